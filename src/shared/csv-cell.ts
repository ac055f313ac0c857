// A cell of a CSV file. Pure and browser-safe.

/** Characters with which a formula begins, also in the width of East Asian letters. */
const formula = '[=+\\-@\\uff0b\\uff0d\\uff1d\\uff20]';
const formulaAtStart = new RegExp(`^\\s*${formula}|^[\\t\\r\\n]`);
const formulaInside = new RegExp(`([;\\t\\r\\n])(?=[^\\S;\\t\\r\\n]*${formula})`, 'g');

/**
 * A cell as RFC 4180 writes it. A spreadsheet would run text that begins like a formula, also after its own trimming,
 * so an apostrophe stands in front. Spreadsheets of many languages begin a cell at each semicolon as well, even in
 * quotation marks.
 */
export function csvCell(text: string): string {
  const marked = text.replace(formulaInside, "$1'");
  const safe = formulaAtStart.test(marked) ? `'${marked}` : marked;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}
