// Placeholders of messages that nothing fills: they reach people as they are written.
import { builtInPrefixes, principalFields } from '../evaluate/selector.ts';
import type { Json } from '../yaml.ts';
import { nearestWord } from './distance.ts';
import { isMapping } from './reader.ts';

export interface EmptyPlaceholder {
  /** One sentence. */
  readonly message: string;
  readonly suggestion: string | null;
}

/** Selectors, as messages name them; other words in braces are text. */
const placeholder = /\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}/g;

/**
 * Finds placeholders of a message that agents do not fill in.
 * @param names roots that agents register
 * @param used selectors of the document's conditions, which are looked at where they stand
 */
export function emptyPlaceholders(
  message: string,
  names: ReadonlySet<string>,
  used: ReadonlySet<string>,
): readonly EmptyPlaceholder[] {
  const selectors = new Set([...message.matchAll(placeholder)].map(([, selector = '']) => selector));
  return [...selectors].flatMap((selector) => {
    const meant = meantFor(selector, names, used);
    return meant === undefined
      ? []
      : [
          {
            message: `{${selector}} is not filled in: the message shows it literally.`,
            suggestion: meant === null ? null : `{${meant}}`,
          },
        ];
  });
}

/** Undefined: nothing is wrong with it. Null: something is, and nothing comes near. */
function meantFor(
  selector: string,
  names: ReadonlySet<string>,
  used: ReadonlySet<string>,
): string | null | undefined {
  const [root = '', ...fields] = selector.split('.');
  const field = fields.join('.');
  if (selector === 'environment' || used.has(selector)) return undefined;
  if (fields.length === 0) return builtInPrefixes.has(root) ? null : near(selector, ['environment']);
  if (root === 'args')
    return near(
      selector,
      [...used].filter((one) => one.startsWith('args.')),
    );
  if (root === 'tool') return field === 'name' ? undefined : 'tool.name';
  if (root === 'output') return field === 'text' ? undefined : 'output.text';
  if (root === 'environment') return 'environment';
  if (root === 'principal') {
    if (principalFields.has(field) || fields[0] === 'claims') return undefined;
    return `principal.${near(field, principalFields) ?? `claims.${field}`}`;
  }
  if (builtInPrefixes.has(root) || names.has(root)) return undefined;
  const meant = near(root, [...builtInPrefixes, ...names]);
  return meant === undefined ? null : [meant, ...fields].join('.');
}

/** A long word may be misspelt twice. */
const near = (word: string, words: Iterable<string>): string | undefined =>
  nearestWord(word, words, (one) => (one.length >= 12 ? 2 : 1));

/** Every selector of a condition. */
export function selectorsIn(node: Json | undefined): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(selectorsIn);
  if (!isMapping(node)) return [];
  return Object.entries(node).flatMap(([key, inner]) =>
    key === 'all' || key === 'any' || key === 'not' ? selectorsIn(inner) : [key],
  );
}
