import { useId } from "preact/hooks";

interface SwitchProps<Name extends string> {
  label: string;
  options: readonly (readonly [name: Name, title: string])[];
  chosen: Name;
  onChoose(name: Name): void;
}

/** One of a few, all of them in sight. */
export function Switch<Name extends string>({
  label,
  options,
  chosen,
  onChoose,
}: SwitchProps<Name>) {
  const group = useId();
  return (
    <fieldset class="switch">
      <legend>{label}</legend>
      {options.map(([name, title]) => (
        <label key={name}>
          <input
            type="radio"
            name={group}
            checked={chosen === name}
            onChange={() => onChoose(name)}
          />
          <span>{title}</span>
        </label>
      ))}
    </fieldset>
  );
}
