// Secrets some way behind their name: a value beside a name in JSON, YAML and XML, a text that a call, a declaration
// or an operator takes, a block below a key, the answer to a prompt. Looks at a bounded stretch behind each name, and
// so is linear in the text's length.
import { looksChosen } from './chosen.ts';
import type { NameTest } from './key.ts';
import { redacted } from './secret.ts';

/** A name with one of the words that a secret's name holds. */
const mention =
  /(?<![\w.-])(?=[\w.-]{0,120}?(?:pass|pwd|psk|secret|token|key|cred|cookie|auth))[A-Za-z_][\w.-]{0,127}/gi;
/** Characters behind a name within which its value may begin. */
const reach = 240;
/** Where a value stands that is named elsewhere. */
const valueKey =
  /\b(\w{0,32}value|val|default|content|data|string|plain_?text|S)\b["']?[ \t]{0,8}(?:=>|[:=>](?![=>]))\s{0,8}/i;
/** A text between quotes, without blanks. */
const quoted = /(["'`])([^\s"'`]{6,512})\1/g;
/** An arrow, a dash or the blanks of two columns; what follows in quotes is found as a text. */
const arrow = /^["'`]?(?:[ \t]{1,8}(?:->|<-|[→⇒—–])[ \t]{1,8}|[ \t]{2,16})(?=[^\s"'`])/;
/** A block of text below a key of YAML, or a list. */
const block = /^["']?[ \t]{0,8}:[ \t]{0,8}[|>][+-]?\d?[+-]?[ \t]{0,8}\r?\n/;
const list = /^["']?[ \t]{0,8}:[ \t]{0,8}\r?\n(?=[ \t]{0,32}-[ \t])/;
/** The head of a part of a form that a browser sends. */
const part = /^"\r?\n\r?\n/;
/** A value that stands before its name. */
const reversed =
  /((?:"value"|'value')\s{0,8}:\s{0,8}["'])[^"'\n]{1,4096}(["']\s{0,8},\s{0,20}["'](?:name|key)["']\s{0,8}:\s{0,8}["']([\w.-]{1,128})["'])/gi;
/** The answer to a prompt, as expect and its like give it. */
const answer =
  /\bsend(?:line)?(?:[ \t]{1,8}(?:--[ \t]{1,8})?|\([ \t]{0,8})(["'])([^"'\n]{1,512}?)((?:\\[rn])*)\1/g;
const prompt = /\bexpect\b[\s\S]*(?:assw|assphrase|asscode|secret|token|\bkey\b|\bpin\b)/i;

/** The stretch behind a name: the place of a value in it, from and to. */
type Span = readonly [from: number, to: number];

/** Hides values that stand apart from their names. */
export function hidePairs(text: string, names: NameTest): string {
  let out = '';
  let end = 0;
  mention.lastIndex = 0;
  for (let match = mention.exec(text); match; match = mention.exec(text)) {
    if (!names.isSensitiveName(match[0].replace(/[.-]+$/, ''))) continue;
    const at = match.index + match[0].length;
    const behind = text.slice(at, at + reach);
    for (const [from, to] of block.test(behind) ? [blockBelow(text, match.index, at)] : spansOf(behind)) {
      if (at + from < end || to <= from) continue;
      out += text.slice(end, at + from) + redacted;
      end = at + to;
    }
    mention.lastIndex = Math.max(end, at);
  }
  return out + text.slice(end);
}

/** Hides values that stand before their names, and answers to prompts. */
export function hideAnswers(text: string, names: NameTest): string {
  const hidden = text.includes('send')
    ? text.replace(answer, (whole, _quote: string, said: string, ended: string, index: number) =>
        prompt.test(text.slice(Math.max(0, index - 200), index)) || (ended !== '' && looksChosen(said))
          ? whole.replace(said, redacted)
          : whole,
      )
    : text;
  return hidden.replace(reversed, (whole, head: string, tail: string, name: string) =>
    names.isSensitiveName(name) ? head + redacted + tail : whole,
  );
}

/** In order, and apart. */
function spansOf(behind: string): readonly Span[] {
  const pointed = arrow.exec(behind)?.[0].length ?? 0;
  if (pointed > 0) return chosenOnly([run(behind, pointed)], behind);
  const form = part.exec(behind)?.[0].length ?? 0;
  if (form > 0) return [run(behind, form)];
  const items = list.exec(behind)?.[0].length ?? 0;
  if (items > 0) return chosenOnly(itemsOf(behind, items), behind);
  const key = valueKey.exec(behind);
  if (key && leadsOn(behind.slice(0, key.index))) {
    const value = run(behind, key.index + key[0].length);
    // What is called the value is one; a default or a content may be a description.
    return /value$/i.test(key[1] ?? '') && isGiven(behind, key.index, value)
      ? [value]
      : chosenOnly([value], behind);
  }
  return chosenOnly(textsOf(behind), behind);
}

const chosenOnly = (spans: readonly Span[], text: string): readonly Span[] =>
  spans.filter(([from, to]) => looksChosen(text.slice(from, to)));

/** A value in quotes, or up to what ends one without. */
function run(text: string, from: number): Span {
  if (text.startsWith(redacted, from)) return [from, from];
  const quote = text[from] ?? '';
  if (!/["'`]/.test(quote))
    return [from, from + (/^[^\s,;}\]<"'`]*/.exec(text.slice(from))?.[0].length ?? 0)];
  const end = text.indexOf(quote, from + 1);
  return [from + 1, end < 0 ? text.length : end];
}

/** Whether a value stands in quotes, or alone behind a key that begins its line: without either, it may be code. */
function isGiven(behind: string, key: number, [from, to]: Span): boolean {
  const value = behind.slice(from, to);
  if (/^(?:true|false|null|none|yes|no)$/i.test(value)) return false;
  if (/["'`]/.test(behind[from - 1] ?? '')) return true;
  return /\n[ \t-]*$/.test(behind.slice(0, key)) && /^[ \t]*(?:[\r\n]|$)/.test(behind.slice(to));
}

/** Whether nothing between a name and the key of its value belongs to something else. */
function leadsOn(between: string): boolean {
  if (/[}(]/.test(between) || /\b(?:\w*name|\w*key|id)\b["']?\s*[:=]/i.test(between.slice(1))) return false;
  return between
    .split(/[,\n{]/)
    .every((one) => /^[^\p{L}\p{N}]*$/u.test(one) || /^\W*[\w.-]+["']?\s*[:=>]/.test(one));
}

/** Texts between quotes in the rest of the statement: the first, or all of a list. */
function textsOf(behind: string): readonly Span[] {
  const statement = behind.split(/[\r\n;]/, 1)[0] ?? '';
  const spans: Span[] = [];
  // The name's own quote closes none of them.
  quoted.lastIndex = /^["'`]/.test(statement) ? 1 : 0;
  for (let match = quoted.exec(statement); match; match = quoted.exec(statement)) {
    const between = statement.slice(1, match.index);
    // What another key names is its own.
    if (/["'][ \t]*:|[,\s{(][\w.-]+(?:[ \t]*:|=)[ \t]*$|,[ \t]*[\w.-]+[ \t]*[=:]/.test(between)) break;
    const from = match.index + 1;
    spans.push([from, from + (match[2] ?? '').length]);
    if (!between.includes('[')) break;
  }
  return spans;
}

function itemsOf(behind: string, from: number): readonly Span[] {
  const spans: Span[] = [];
  const item = /[ \t]{0,32}-[ \t]{1,8}["']?([^\s"'#]+)["']?[ \t]*(?:\r?\n|$)/y;
  item.lastIndex = from;
  for (let match = item.exec(behind); match; match = item.exec(behind)) {
    const value = match[1] ?? '';
    const at = behind.indexOf(value, match.index + match[0].indexOf('-') + 1);
    spans.push([at, at + value.length]);
  }
  return spans;
}

/** The lines that are indented more than the key, however many. */
function blockBelow(text: string, start: number, at: number): Span {
  const indent = /[ \t-]*$/.exec(text.slice(Math.max(0, start - 64), start))?.[0].length ?? 0;
  const blanksAt = (place: number): number => /^[ \t]*/.exec(text.slice(place, place + 64))?.[0].length ?? 0;
  const first = text.indexOf('\n', at) + 1;
  let end = first;
  while (end < text.length && (blanksAt(end) > indent || /[\r\n]/.test(text[end] ?? ''))) {
    const next = text.indexOf('\n', end);
    end = next < 0 ? text.length : next + 1;
  }
  return [first + blanksAt(first) - at, (text[end - 1] === '\n' ? end - 1 : end) - at];
}
