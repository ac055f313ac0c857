// Messages with {selector} placeholders, compiled once. The caller decides which values are secret.
import type { View } from './call.ts';
import { type CustomSelector, compileSelector, type Getter } from './selector.ts';

const maxValueLength = 200;
const maxMessageLength = 500;

export interface MessageOptions {
  readonly selectors?: Readonly<Record<string, CustomSelector>>;
  /** True if a value must not be shown. */
  readonly looksSecret: (value: string) => boolean;
}

/**
 * Compiles a message. Missing values leave their placeholder as it is written; the result has at most 500 characters.
 */
export function compileMessage(
  message: string,
  { selectors, looksSecret }: MessageOptions,
): (view: View) => string {
  const parts: (string | { readonly text: string; readonly get: Getter })[] = [];
  let kept = 0;
  for (const match of message.matchAll(/\{([^}]+)\}/g)) {
    parts.push(message.slice(kept, match.index));
    parts.push({ text: match[0], get: compileSelector(match[1] ?? '', selectors) });
    kept = match.index + match[0].length;
  }
  if (kept === 0) {
    const fixed = cut(message, maxMessageLength);
    return () => fixed;
  }
  parts.push(message.slice(kept));
  return (view) => {
    const text = parts.map((part) =>
      typeof part === 'string' ? part : visibleText(part.get, part.text, view, looksSecret),
    );
    return cut(text.join(''), maxMessageLength);
  };
}

function visibleText(
  get: Getter,
  placeholder: string,
  view: View,
  looksSecret: (value: string) => boolean,
): string {
  try {
    const value = get(view);
    if (value === undefined || value === null) return placeholder;
    // Texts inside a structure are looked at one by one: the structure itself never looks like a secret.
    const text =
      typeof value === 'object'
        ? JSON.stringify(value, (_key, inner) =>
            typeof inner === 'string' && looksSecret(inner) ? '[REDACTED]' : inner,
          )
        : String(value);
    return looksSecret(text) ? '[REDACTED]' : cut(text, maxValueLength);
  } catch {
    return placeholder;
  }
}

/** At most `max` UTF-16 units, the last three of them dots when something was left out; never half a character. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 4);
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 4 : max - 3)}...`;
}
