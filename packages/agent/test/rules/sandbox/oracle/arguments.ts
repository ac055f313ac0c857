// The names in a call: the paths, URLs and commands among its arguments, whatever their names and however deep they
// lie.
import type { ToolCall } from '../../../../src/rules/evaluate/call.ts';
import { type Budget, spend } from '../../../../src/rules/regex/regex.ts';
import { type ArgumentKind, type Declared, kindOfName } from './names.ts';
import { looksLikePath, readingsOf } from './path.ts';
import { isFileUrl, looksLikeRemote, looksLikeUrl } from './url.ts';

/** Texts of one call that are judged. */
export const maxTexts = 10_000;
/** Mappings and lists within each other. */
export const maxNesting = 64;
/** Characters of a text that is judged by its look. */
const maxLook = 4_096;

/** A command: a line for a shell, then words that are literal; one of both may be empty. */
export interface NamedCommand {
  readonly line: string;
  readonly words: readonly string[];
}

/** Paths, URLs and commands that a call names. */
export interface Naming {
  readonly paths: readonly string[];
  /** Texts that are URLs or host names by their name or look. */
  readonly urls: readonly string[];
  /** Other texts that may hold URLs among their words. */
  readonly texts: readonly string[];
  readonly commands: readonly NamedCommand[];
  /** Folders the call's commands run in, as the arguments say. */
  readonly folders: readonly string[];
  /** The arguments were declared to say so: no other folder needs to be thought of. */
  readonly foldersDeclared: boolean;
  /** A command argument that is neither text nor a list. */
  readonly oddCommand: boolean;
  /** More texts or a deeper nesting than is judged. */
  readonly tooMuch: boolean;
}

/** Reads the arguments of a call. Never throws but for a spent budget or an accessor of the caller's own. */
export function readArguments(call: ToolCall, declared: Declared | null, budget: Budget): Naming {
  const reader = new ArgumentReader(budget);
  reader.visit(call.args, null, declared, 0);
  return reader;
}

/** Arguments with the rest of a command that stands beside them: `{command: "rm", args: ["-rf", "/"]}`. */
const restNames = new Set(['args', 'argv', 'arguments']);
/** Names whose lists hold one command line each. */
const isPlural = (name: string): boolean => /s$/i.test(name);

class ArgumentReader implements Naming {
  readonly paths: string[] = [];
  readonly urls: string[] = [];
  readonly texts: string[] = [];
  readonly commands: NamedCommand[] = [];
  readonly folders: string[] = [];
  foldersDeclared = false;
  oddCommand = false;
  tooMuch = false;
  #count = 0;
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** @param kind what the nearest name above says; null: the look of each text decides */
  visit(
    value: unknown,
    kind: ArgumentKind | null,
    declared: Declared | null,
    depth: number,
    name = '',
  ): void {
    spend(this.#budget, 1);
    if (this.tooMuch) return;
    if (kind === 'command' && (typeof value === 'number' || typeof value === 'bigint'))
      this.oddCommand = true;
    if (typeof value === 'string') this.#text(value, kind);
    else if (value !== null && typeof value === 'object') {
      if (depth > maxNesting) this.tooMuch = true;
      else this.#object(value, kind, declared, depth, name);
    }
  }

  #object(
    value: object,
    kind: ArgumentKind | null,
    declared: Declared | null,
    depth: number,
    name: string,
  ): void {
    const list = Array.isArray(value) ? value : value instanceof Set ? [...value] : null;
    if (list && kind === 'command' && !isPlural(name) && list.every(isWord)) {
      this.commands.push({ line: '', words: list.map(String) });
    } else if (list) {
      for (const item of list) this.visit(item, kind, declared, depth + 1);
    } else if (value instanceof URL || value instanceof String) this.#text(String(value), kind);
    else if (value instanceof Uint8Array) {
      if (kind !== null) this.#text(new TextDecoder().decode(value), kind);
    } else this.#mapping(value instanceof Map ? [...value] : Object.entries(value), kind, declared, depth);
  }

  #mapping(
    entries: readonly (readonly [unknown, unknown])[],
    above: ArgumentKind | null,
    declared: Declared | null,
    depth: number,
  ): void {
    const rest = restOfCommand(entries, declared);
    for (const [key, value] of entries) {
      const name = typeof key === 'string' ? key : '';
      // A name may itself be what is looked for: {files: {"/etc/passwd": "…"}}.
      if (above !== 'content' && /[/:~%\\]|\.\./.test(name)) this.#look(name);
      // A declaration holds for all that is below it, but for what is declared there.
      const below = declared?.below.get(name) ?? (declared?.kind === undefined ? null : declared);
      const kind = below?.kind ?? kindOfName(name) ?? inherited(above);
      if (below?.kind === 'cwd') this.foldersDeclared = true;
      if (rest !== null && name === rest.name) this.commands.push(rest.command);
      else if (rest === null || name !== rest.others) this.visit(value, kind, below, depth + 1, name);
    }
  }

  #text(text: string, kind: ArgumentKind | null): void {
    if (kind === 'content' || (text === '' && kind !== 'command')) return;
    if (++this.#count > maxTexts) {
      this.tooMuch = true;
      return;
    }
    spend(this.#budget, text.length >> 3);
    if (kind === 'command') this.commands.push({ line: text, words: [] });
    else if (kind === 'url') {
      this.urls.push(text);
      if (isFileUrl(text.trim()) || looksLikePath(text.trim())) this.paths.push(text);
    } else if (kind === 'path' || kind === 'cwd') {
      if (kind === 'cwd') this.folders.push(text);
      this.paths.push(text);
      if (looksLikeUrl(text.trim()) || looksLikeRemote(text)) this.urls.push(text);
    } else this.#look(text);
  }

  /** A text whose name says nothing. */
  #look(text: string): void {
    if (text.length > maxLook || text === '') return;
    const line = text.trim();
    if (/[\n\r]/.test(line)) return;
    const isPath = [...readingsOf(line)].some(looksLikePath);
    if (isPath) this.paths.push(text);
    if (!isPath && (looksLikeUrl(line) || looksLikeRemote(line))) this.urls.push(text);
    // Clients of this language have always judged the URLs among the words of a text.
    else if (line.includes(':')) this.texts.push(text);
  }
}

/** Names of paths, URLs and commands hold for everything below them; content is content only where it is named so. */
const inherited = (above: ArgumentKind | null): ArgumentKind | null => (above === 'content' ? null : above);

const isWord = (item: unknown): boolean =>
  typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean';

/** A command in one argument and the rest of its words beside it: in a list, or as the rest of the line. */
function restOfCommand(
  entries: readonly (readonly [unknown, unknown])[],
  declared: Declared | null,
): { name: unknown; others: unknown; command: NamedCommand } | null {
  const declaredKind = (name: unknown) => declared?.below.get(String(name))?.kind;
  const others = entries.find(
    ([name, value]) =>
      restNames.has(String(name)) &&
      declaredKind(name) === undefined &&
      (typeof value === 'string' || (Array.isArray(value) && value.every(isWord))),
  );
  if (!others) return null;
  const first = entries.find(
    ([name, value]) =>
      typeof name === 'string' &&
      typeof value === 'string' &&
      (declaredKind(name) ?? kindOfName(name)) === 'command',
  );
  if (!first) return null;
  const line = first[1] as string;
  const command =
    typeof others[1] === 'string'
      ? { line: `${line} ${others[1]}`, words: [] }
      : { line, words: (others[1] as unknown[]).map(String) };
  return { name: first[0], others: others[0], command };
}
