// The texts of an event that a search reads beside its names: its reason and the values of its arguments. Pure.
import type { EventInput } from '../record.ts';

/** Texts of one event. */
const maxTexts = 64;
/** UTF-16 units of one text; the rest of a longer one is not searched. */
const maxLength = 1_000;
/** UTF-16 units of all texts of one event. */
const maxTotal = 4_096;

/** The reason, then the values in `tool_args` in order: strings, numbers and booleans, also within lists and maps. */
export function searchedTextsOf({ payload }: Pick<EventInput, 'payload'>): readonly string[] {
  const texts: string[] = [];
  let room = maxTotal;
  const add = (value: unknown): void => {
    if (texts.length >= maxTexts || room <= 0) return;
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) add(inner);
      return;
    }
    if (value === null || value === undefined || value === '') return;
    const text = String(value).slice(0, Math.min(maxLength, room));
    room -= text.length;
    texts.push(text);
  };
  if (typeof payload?.reason === 'string') add(payload.reason);
  add(payload?.tool_args);
  return texts;
}
