// Secrets in tables of Markdown, of database clients and of separated values: beside a cell that names them, or below a
// header that does. A cell must look chosen or drawn, because tables describe secrets more often than they hold them.
// Linear in the text's length.
import { looksChosen } from './chosen.ts';
import type { NameTest } from './key.ts';
import { redacted } from './secret.ts';

const bars = /[|│║┃]/;
/** What separates the header of a table from its rows, and frames both. */
const rule = /^[\s|│║┃:+=\-─━═┼╪╫╬├┤╞╡╟╢╠╣┌┐└┘╔╗╚╝┬┴╤╧╦╩]+$/;
/** Longest line that is read as a row, in characters, and most of its cells. */
const maxLine = 8_192;
const maxCells = 200;

/** What of a cell is its text: neither blanks, quotes nor emphasis. */
const decoration = /^[\s"'`*_]+|[\s"'`*]+$/g;
const bare = (cell: string): string => cell.replace(decoration, '');

interface Columns {
  readonly separator: string;
  readonly count: number;
  readonly secret: ReadonlySet<number>;
}

/** Hides cells of tables that hold secrets. */
export function hideTables(text: string, names: NameTest): string {
  if (!/[|│║┃,;\t]/.test(text)) return text;
  let columns = null as Columns | null;
  const lines = text.split('\n');
  for (const [i, line] of lines.entries()) {
    if (rule.test(line)) continue;
    const separator: string | null =
      line.length > maxLine ? null : (bars.exec(line)?.[0] ?? commonSeparator(line, columns));
    if (separator === null) {
      columns = null;
      continue;
    }
    const cells = cellsOf(line, separator);
    const fits = columns?.separator === separator && columns.count === cells.length;
    if (!fits)
      columns = headerOf(cells, separator, names) ?? (columns?.separator === separator ? columns : null);
    const beside = bars.test(separator) || cells.length === 2;
    lines[i] = hideCells(cells, fits ? columns : null, beside, names).join(separator);
  }
  return lines.join('\n');
}

/** Of a line without bars: what the header above it was separated by, or what separates it if it is one. */
function commonSeparator(line: string, columns: Columns | null): string | null {
  if (columns && !bars.test(columns.separator) && line.includes(columns.separator)) return columns.separator;
  const first = /^[#/>*]{0,3} ?["']?[\p{L}_][\w. -]{0,127}["']?([,;\t])/u.exec(line)?.[1];
  return first ?? null;
}

/** A separator between double quotes separates nothing. */
function cellsOf(line: string, separator: string): readonly string[] {
  const cells = line.split(separator);
  if (!line.includes('"') || bars.test(separator)) return cells;
  const whole: string[] = [];
  let open = false;
  for (const cell of cells) {
    if (open) whole[whole.length - 1] += separator + cell;
    else whole.push(cell);
    if (cell.split('"').length % 2 === 0) open = !open;
  }
  return whole;
}

function headerOf(cells: readonly string[], separator: string, names: NameTest): Columns | null {
  const secret = new Set<number>();
  if (cells.length > maxCells) return null;
  for (const [i, cell] of cells.entries()) {
    const name = bare(cell);
    // All cells of a header are names; a sentence with commas is none.
    if (name === '' && !bars.test(separator)) return null;
    if (name.length > 128 || /[=:(){}<>]/.test(name)) return null;
    if (isName(name, names)) secret.add(i);
  }
  return secret.size > 0 ? { separator, count: cells.length, secret } : null;
}

const isName = (text: string, names: NameTest): boolean =>
  /^[\p{L}_][\w .-]{1,127}$/u.test(text) && names.isSensitiveName(text.trim().replaceAll(' ', '_'));

/** @param beside whether a cell is also named by the one before it */
function hideCells(
  cells: readonly string[],
  columns: Columns | null,
  beside: boolean,
  names: NameTest,
): readonly string[] {
  if (cells.length > maxCells) return cells;
  let named = false;
  return cells.map((cell, i) => {
    const value = bare(cell);
    const isSecret = (columns?.secret.has(i) || named) && looksChosen(value);
    named = beside && isName(value, names);
    return isSecret ? cell.replace(value, redacted) : cell;
  });
}
