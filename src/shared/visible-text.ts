// Texts of strangers made harmless to read: characters that hide, or turn text around, written as symbols. Pure and
// browser-safe.

/**
 * Control and format characters, what Unicode lets fonts ignore, private use, broken surrogates, and blanks that are no
 * spaces. A variation selector behind a pictogram is part of the pictogram.
 */
const hidden =
  /(?<!\p{Extended_Pictographic})\ufe0f|(?!\ufe0f)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;

/** The text with nothing hidden in it: `\u202e` becomes `‹U+202E›`. Line breaks and tabs stay. */
export const visible = (text: string): string =>
  text.replace(hidden, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '\n' || character === '\t') return character;
    if (code === 0x7f) return '\u2421';
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `\u2039U+${code.toString(16).toUpperCase().padStart(4, '0')}\u203a`;
  });

/** The same on one line. */
export const visibleLine = (text: string): string =>
  visible(text).replace(/[\n\t]/g, (character) => (character === '\n' ? '\u240a' : '\u2409'));

/** Shortens a long text to its start, with a mark. @param max UTF-16 code units before the mark */
export const endCut = (text: string, max: number): string =>
  // Half of a character would be drawn as a box.
  text.length <= max ? text : `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`;
