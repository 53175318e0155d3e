// Errors of the checker, each shown once: at the control of its field, or above the controls of A, B or both.

import { get } from "./plots";

interface Shown {
  field: string;
  text: string;
}

/** The field of an error, and the text without the name of the file and its line, which the page does not show. */
export function parts(error: string): Shown {
  const text = error.replace(/^[AB]\.toml(:\d+:\d+)?: /, "");
  const field = /^([^\s:]+): /.exec(text)?.[1] ?? "";
  return { field, text };
}

function clear(): void {
  for (const each of document.querySelectorAll(".row .error")) each.remove();
  for (const each of document.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  for (const id of ["error-a", "error-b", "error-both"]) get(id).textContent = "";
}

/** Shows an error at the control of its field in a panel, or among those of a story; returns whether there is one. */
function atControl({ field, text }: Shown, side: "a" | "b" | undefined): boolean {
  const own = side ? `[data-side="${side}"]` : ":not([data-side])";
  const rows = document.querySelectorAll<HTMLElement>(`#${side ? `side-${side}` : "network"} [data-path], #knobs [data-path]${own}`);
  const row = [...rows].find((each) => each.dataset["path"] === field);
  const input = row?.querySelector<HTMLElement>("input[type=text], select");
  if (!row || !input) return false;
  const made = document.createElement("small");
  [made.className, made.id, made.textContent] = ["error", `${input.id}-error`, text.replace(`${field}: `, "")];
  made.setAttribute("role", "alert");
  row.append(made);
  input.setAttribute("aria-invalid", "true");
  const details = row.closest("details");
  if (details) details.open = true;
  return true;
}

/** Shows the errors of A and B; "" without one. */
export function showErrors(errors: [string, string]): void {
  clear();
  const [a, b] = errors.map(parts) as [Shown, Shown];
  const both = errors[0] !== "" && a.text === b.text;
  if (both) {
    if (!atControl(a, undefined)) get("error-both").textContent = a.text;
    return;
  }
  [a, b].forEach((each, i) => {
    if (each.text === "") return;
    const side = i === 0 ? "a" : "b";
    if (!atControl(each, side) && !atControl(each, undefined)) get(`error-${side}`).textContent = each.text;
  });
}
