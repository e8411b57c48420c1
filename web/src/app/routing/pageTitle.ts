/** The name of a page as people see it. */
export function pageTitle(page: string): string {
  return page.charAt(0).toUpperCase() + page.slice(1);
}
