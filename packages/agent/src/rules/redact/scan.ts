// Hides secrets in a text by one pass over its words: behind a name, by a token's prefix, in an address, as a program
// takes them. Which form stands where is data (forms.ts, programs.ts); a meter counts the characters that are read.
import { forms, type Judgement } from './forms.ts';
import type { NameTest, Strength } from './names.ts';
import { addresses, programs } from './programs.ts';
import * as tables from './tables.ts';
import { isCode, isDigits, isPath, looksChosen, looksDrawn } from './values.ts';

export const redacted = '[REDACTED]';

/** Characters that were read, and how many may be. */
export interface Meter {
  steps: number;
  readonly budget: number;
}

/** What a text is judged by; `tokens` is sticky. */
export interface Judges {
  readonly names: NameTest;
  readonly tokens: RegExp;
}

interface Form {
  readonly judgement: Judgement;
  readonly pattern: RegExp;
  /** Characters that it reads where it fails, at most. */
  readonly reach: number;
}

/** Characters that a form without a gap reads where it fails. */
const direct = 16;
/** Characters between two names, on average, that pay for a search of the gaps behind one. */
const searchEvery = 40;

const formOf = (judgement: Judgement, source: string, flags: string): Form => {
  const gaps = [...source.matchAll(/\{\d,(\d+)\}\?/g)].map((gap) => Number(gap[1]));
  return { judgement, pattern: new RegExp(source, flags), reach: Math.max(direct, ...gaps) };
};
const formsOfNames = forms.map(([judgement, source]) => formOf(judgement, source, 'diy'));
const formsOfStatements = formsOfNames.filter(({ reach }) => reach === 160);
const formsOfAddresses = addresses.map(([judgement, source]) => formOf(judgement, source, 'dy'));
const formsOfPrograms = new Map(
  Object.entries(programs).map(([words, rows]) => [
    words,
    rows.map(([how, source]) => formOf(how, source, 'dy')),
  ]),
);
const pairsOfWords = new Map<string, Strength>(
  tables.namesOfTwo.split('|').map((pair) => [pair, /(?:key|phrase)$/.test(pair) ? 'chosen' : 'code']),
);
const base64 = /(?:ey[JAN]|ew[o0]|W3[so])[A-Za-z0-9+/_-]{12,}(?![A-Za-z0-9+/_.-])={0,2}/y;
const wordRun = /[A-Za-z0-9_\xc0-\u1fff\u3040-\ufeff-]+/y;
const otherRun = /%(?:25){0,2}[0-9a-f]{2}|[^A-Za-z0-9_\xc0-\u1fff\u3040-\ufeff$%:@-]+|[\s\S]/iy;
const restOfRun = /[^\s"'`,;&}\]]*/y;
const restOfLine = /[^\r\n]*/y;
const wasHidden = /^\W*(?:[\w.-]{1,64}=)?\W*REDACTED\W*$/;

const at = (pattern: RegExp, text: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index;
  return pattern.exec(text);
};

/** A text with every secret that was found replaced; the mark alone where the meter's budget does not suffice. */
export function hideSecrets(text: string, judges: Judges, meter: Meter, depth = 0): string {
  const { names, tokens } = judges;
  let out = '';
  let kept = 0;
  let place = 0;
  let previous = '';
  let previousEnd = -1;
  let headerEnd = 0;
  let searches = 8;
  let searchedAt = 0;
  const cells: [from: number, to: number][] = [];

  const hide = (from: number, to: number): true => {
    if (from >= kept) out += text.slice(kept, from) + redacted;
    kept = Math.max(kept, to);
    place = Math.max(place, to);
    return true;
  };

  const isSecret = (
    judgement: Judgement,
    strength: Strength,
    name: string,
    from: number,
    to: number,
  ): boolean => {
    const value = text.slice(from, to);
    if (from < kept || wasHidden.test(value) || /^["'\\`]*$/.test(value)) return false;
    if (judgement === 'drawn') return looksDrawn(value);
    if (strength === 'code') return judgement !== 'chosen' && isDigits(name, value);
    const looked = value.replace(/(?:\\[rn])+$/, '');
    if (judgement === 'chosen' || strength === 'chosen') return looksChosen(looked) || looksDrawn(looked);
    if (judgement === 'code' || (/pwd\d*$/i.test(name) && isPath(value))) return false;
    if (/["'`\\]/.test(value[0] as string) || /["'`]/.test(text[from - 1] ?? '')) return true;
    return !isCode(value) && (strength === 'any' || !/^[\d.]+[,;]?$/.test(value));
  };

  /** Tries forms at a place; hides the first value that is a secret, to the end of its run. */
  const tryForms = (list: readonly Form[], index: number, name: string, strength: Strength): boolean => {
    for (const { judgement, pattern, reach } of list) {
      for (let begin = index, tries = reach === direct ? 1 : searches < 1 ? 0 : 6; tries > 0; tries--) {
        const match = at(pattern, text, begin);
        meter.steps += match ? match[0].length : Math.min(reach, text.length - begin);
        const [from, to] = match?.indices?.groups?.v ?? [0, 0];
        if (to <= from || from - index > reach + 64) break;
        const value = text.slice(from, to);
        if (judgement === 'own' && wasHidden.test(value)) return false;
        if (isSecret(judgement, strength, name, from, to)) {
          const more =
            to - from < 512 || /["'`]/.test(text[to] ?? '"')
              ? null
              : value.includes(' ')
                ? restOfLine
                : restOfRun;
          return hide(from, to + (more ? (at(more, text, to)?.[0].length ?? 0) : 0));
        }
        begin = to;
      }
    }
    return false;
  };

  /** A token, or JSON in base64 that holds a secret. */
  const hideToken = (start: number): boolean => {
    if (at(tokens, text, start)) return hide(start, tokens.lastIndex);
    if (depth > 1 || /[+/=.]/.test(text[start - 1] ?? '') || !at(base64, text, start)) return false;
    const to = base64.lastIndex;
    const inner = decoded(text.slice(start, to));
    return inner !== null && hideSecrets(inner, judges, meter, depth + 1) !== inner && hide(start, to);
  };

  /** The header of a table: notes the cells that look chosen below a name, in lines of as many cells. */
  const readHeader = (start: number): void => {
    const lineStart = Math.max(headerEnd, text.lastIndexOf('\n', start) + 1);
    const lineAt = (index: number): string => at(/[^\n]*/y, text, index)?.[0] ?? '';
    const header = lineAt(lineStart);
    headerEnd = lineStart + header.length + 1;
    const separator = /[|│║┃]/.exec(header)?.[0] ?? /[,;\t]/.exec(header)?.[0];
    if (separator === undefined || header.length > 2048 || /[=:(){}<>]/.test(header)) return;
    const split = (line: string): string[] =>
      line.replace(/"[^"]*"/g, (one) => one.replaceAll(separator, ' ')).split(separator);
    const isSecretCell = split(header).map(
      (cell) => names.strengthOf(cell.replace(/^[\s"'`*_#]+|[\s"'`*_]+$/g, '')) === 'any',
    );
    if (/[,;\t]/.test(separator) && /^\W*$/.test(split(header).find((cell) => /^\W*$/.test(cell)) ?? 'a'))
      return;
    while (headerEnd < text.length) {
      const row = split(lineAt(headerEnd));
      if (/\w/.test(row.join('')) && row.length !== isSecretCell.length) return;
      let from = headerEnd;
      for (const [i, cell] of row.entries()) {
        const value = cell.replace(/^[\s"'`*_]+|[\s"'`*_]+$/g, '');
        const begin = from + cell.indexOf(value);
        if (isSecretCell[i] && looksChosen(value)) cells.push([begin, begin + value.length]);
        from += cell.length + 1;
      }
      headerEnd = from;
    }
  };

  const readWord = (start: number, end: number): void => {
    if (hideToken(start) || end - start > 128) return;
    const word = text.slice(start, end).toLowerCase();
    const pair = start - previousEnd === 1 && text[previousEnd] === ' ' ? `${previous} ${word}` : word;
    const name = text.slice(start, end).replace(/^-+|-+$/g, '');
    const before = text[start - 1] ?? ' ';
    [previous, previousEnd] = [word, end];
    const flags = word[0] === '-' && /[\s"'`=(;&|,[]/.test(before) ? formsOfPrograms.get('-') : undefined;
    if (flags && tryForms(flags, start, '', 'any')) return;
    const program = formsOfPrograms.get(pair) ?? formsOfPrograms.get(word);
    if (program && tryForms(program, end, '', 'any')) return;
    const strength = pairsOfWords.get(pair) ?? names.strengthOf(name);
    if (strength === null) return;
    searches = Math.min(8, searches + (start - searchedAt) / searchEvery);
    searchedAt = start;
    const nameEnd = start + text.slice(start, end).indexOf(name) + name.length;
    if (start >= headerEnd && /[|│║┃,;\t\n "*`]/.test(text[nameEnd] ?? '\n')) readHeader(start);
    // Behind a value without quotes its statement goes on.
    if (tryForms(formsOfNames, nameEnd, name, strength) && !/["'`]/.test(text[place - 1] ?? ''))
      tryForms(formsOfStatements, place, name, strength);
    searches -= searches < 1 ? 0 : 1;
  };

  while (place < text.length) {
    const from = place;
    const cell = cells[0] && cells[0][0] <= from ? cells.shift() : undefined;
    if (cell) hide(...cell);
    if (place > from) continue;
    if (at(wordRun, text, from)) {
      place = wordRun.lastIndex;
      readWord(from, place);
    } else if (text[from] === '$' && at(tokens, text, from)) hide(from, tokens.lastIndex);
    else {
      place = at(otherRun, text, from) ? otherRun.lastIndex : from + 1;
      if (text.startsWith('://', from)) tryForms(formsOfAddresses, from, '', 'any');
    }
    meter.steps += place - from;
    if (meter.steps > meter.budget) return redacted;
  }
  return out + text.slice(kept);
}

function decoded(text: string): string | null {
  try {
    const bytes = atob(text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
  } catch {
    return null;
  }
}
