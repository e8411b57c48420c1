import { render } from "preact";

render(<p>report</p>, document.body);
