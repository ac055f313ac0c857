// Parts of a contract that compile and can never match: an exclusion that excludes nothing, an allowance that allows
// nothing, a condition that no call can meet. A careful reader would not see them.
import { coerce } from '../evaluate/selector.ts';
import type { Json, JsonObject, YamlPath } from '../yaml.ts';
import { addContradictions } from './contradictions.ts';
import { isMapping } from './reader.ts';

export interface DeadPart {
  /** Within the contract. */
  readonly path: YamlPath;
  /** One sentence. */
  readonly message: string;
  /** The form that the author probably meant; null without one. */
  readonly suggestion: string | null;
}

/** @param contract as it is written, valid */
export function deadParts(contract: JsonObject): readonly DeadPart[] {
  const parts: DeadPart[] = [];
  const add = (path: YamlPath, message: string, suggestion: string | null = null): void => {
    parts.push({ path, message, suggestion });
  };
  each(contract, ['tool'], (text, path) => {
    if (/[/\\\p{Cc}]/u.test(text))
      add(
        path,
        'No call can match this name: calls of tools with /, \\ or control characters in their names are refused before any contract.',
      );
    else if (text !== text.trim()) add(path, 'Blanks around a name belong to the name.', text.trim());
  });
  for (const key of ['within', 'not_within']) {
    each(contract, [key], (text, path) => {
      if (/[*?]/.test(text))
        add(path, 'Folders are compared literally: * and ? are not wildcards here.', folderOf(text));
      else if (text !== text.trim()) add(path, 'Blanks around a folder belong to its name.', text.trim());
      else if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
        add(
          path,
          'A folder cannot be a URL.',
          /^file:\/\/\//i.test(text) ? text.slice('file://'.length) : null,
        );
    });
  }
  each(contract, ['allows', 'commands'], (text, path) => {
    const [first = ''] = text.trim().split(/\s+/);
    if (text !== first)
      add(path, 'Only the first word of a command is compared, and it contains no blank.', first || null);
    else if (/[*?]/.test(text)) add(path, 'Commands are compared literally: * and ? are not wildcards here.');
  });
  for (const key of ['allows', 'not_allows']) {
    each(contract, [key, 'domains'], (text, path) => {
      const host = hostOf(text);
      if (host !== text.toLowerCase())
        add(path, 'A domain is compared only with the host name, as a URL parser writes it.', host);
    });
  }
  if (contract.when !== undefined) {
    conditions(contract.when, ['when'], add);
    addContradictions(contract.when, ['when'], add);
  }
  return parts;
}

type Add = (path: YamlPath, message: string, suggestion?: string | null) => void;

/** The texts at a path, one or a list of them. `tool` stands for `tools` too. */
function each(
  contract: JsonObject,
  path: readonly string[],
  look: (text: string, path: YamlPath) => void,
): void {
  const keys = path[0] === 'tool' ? ['tool', 'tools'] : [path[0] as string];
  for (const key of keys) {
    let value: Json | undefined = contract[key];
    for (const step of path.slice(1)) value = isMapping(value) ? value[step] : undefined;
    const at: YamlPath = [key, ...path.slice(1)];
    if (typeof value === 'string') look(value, at);
    else if (Array.isArray(value)) {
      for (const [i, text] of value.entries()) if (typeof text === 'string') look(text, [...at, i]);
    }
  }
}

/** The folder before `/*` or `/**`, which was meant with all that lies below; null for wildcards within names. */
function folderOf(text: string): string | null {
  const folder = text.replace(/(?:\/\*{1,2})+\/?$/, '');
  return folder === '' || /[*?]/.test(folder) ? null : folder;
}

/** The host that was probably meant, in lower case; wildcards stay. */
function hostOf(text: string): string | null {
  const host = text
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/[/?#].*$/, (rest) => (rest.startsWith('?') && !rest.includes('=') ? rest : ''))
    .replace(/:\d+$/, '')
    .replace(/\.$/, '');
  if (host === '' || /\s/.test(host)) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that a host keeps as they are
  if (/^[\x00-\x7f]*$/.test(host)) return host;
  try {
    return new URL(`https://${host.replaceAll('*', 'wildcard')}`).hostname.replaceAll('wildcard', '*');
  } catch {
    return null;
  }
}

function conditions(node: Json, path: YamlPath, add: Add): void {
  if (Array.isArray(node)) {
    for (const [i, item] of node.entries()) conditions(item, [...path, i], add);
    return;
  }
  if (!isMapping(node)) return;
  for (const [key, inner] of Object.entries(node)) {
    const at = [...path, key];
    if (key === 'all' || key === 'any' || key === 'not') conditions(inner, at, add);
    else if (isMapping(inner)) {
      selector(key, at, add);
      operators(key, inner, at, add);
    }
  }
}

function selector(name: string, at: YamlPath, add: Add): void {
  const [root = '', ...fields] = name.split('.');
  if (!['args', 'metadata', 'result', 'principal'].includes(root)) return;
  if (fields.some((field) => field === '')) add(at, `${name} contains a field without a name.`);
  else if (fields.some((field) => /\[\d*\]$/.test(field)))
    add(at, 'Selectors do not enter lists: brackets belong to the name.');
}

/** Operands that no value equals. */
function operators(name: string, all: JsonObject, at: YamlPath, add: Add): void {
  for (const operator of ['equals', 'in']) {
    const operand = all[operator];
    if (operand === undefined) continue;
    const path = [...at, operator];
    const values = operator === 'in' && Array.isArray(operand) ? operand : [operand];
    const glob = values.find((text) => typeof text === 'string' && /[*?]/.test(text));
    if (name === 'tool.name' && glob !== undefined)
      add(path, `${String(glob)} is compared literally: globs belong in tool.`);
    if (values.every((value) => value === null))
      add(path, `Null is a missing value, which ${operator} never matches.`, 'exists: false');
    else if (name.startsWith('env.') && values.every(isConverted)) {
      const converted = values.map((value) => coerce(value as string));
      const message = 'A variable that contains a number, true or false is compared without quotes.';
      add(path, message, JSON.stringify(operator === 'in' ? converted : converted[0]));
    }
  }
}

/** True for a text that no variable of the environment has as its value: conditions get a number or a boolean. */
const isConverted = (value: Json): boolean => typeof value === 'string' && typeof coerce(value) !== 'string';
