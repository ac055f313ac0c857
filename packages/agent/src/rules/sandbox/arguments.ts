// What a call names: the paths, URLs and commands among its arguments, whatever their names and however deep they lie.
import type { ToolCall } from '../evaluate/call.ts';
import { type Budget, spend } from '../regex/regex.ts';
import { type ArgumentKind, type Declared, kindOfName } from './names.ts';
import { looksLikePath, readingsOf } from './path.ts';
import { looksLikeRemote, looksLikeUrl } from './url.ts';

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

/** Where a value stands. */
interface Place {
  /** What the nearest name above implies; null: the look of each text decides. */
  readonly kind: ArgumentKind | null;
  readonly declared: Declared | null;
  readonly depth: number;
  readonly name: string;
}
type Entries = readonly (readonly [name: unknown, value: unknown])[];

/** What a call names. Reading throws only for a spent budget or an accessor of the caller's own. */
export class Naming {
  readonly paths: string[] = [];
  /** Texts that are URLs or host names by their name or look. */
  readonly urls: string[] = [];
  /** Other texts that may hold URLs among their words. */
  readonly texts: string[] = [];
  readonly commands: NamedCommand[] = [];
  /** Folders that the call's commands run in, as the arguments say. */
  readonly folders: string[] = [];
  /** The arguments were declared to say so: no other folder needs to be thought of. */
  foldersDeclared = false;
  /** A command argument that is neither text nor a list. */
  oddCommand = false;
  /** More texts or a deeper nesting than is judged. */
  tooMuch = false;
  #count = 0;
  readonly #budget: Budget;

  constructor(call: ToolCall, declared: Declared | null, budget: Budget) {
    this.#budget = budget;
    this.#visit(call.args, { kind: null, declared, depth: 0, name: '' });
  }

  #visit(value: unknown, place: Place): void {
    spend(this.#budget, 1);
    const { kind, depth } = place;
    if (this.tooMuch) return;
    if (typeof value === 'string') this.#text(value, kind);
    else if (typeof value === 'number' || typeof value === 'bigint') this.oddCommand ||= kind === 'command';
    else if (typeof value !== 'object' || value === null) return;
    else if (depth > maxNesting) this.tooMuch = true;
    else if (Array.isArray(value) || value instanceof Set) this.#list([...value], place);
    else if (value instanceof URL || value instanceof String) this.#text(String(value), kind);
    else if (value instanceof Map) this.#mapping([...value], place);
    else if (!(value instanceof Uint8Array)) this.#mapping(Object.entries(value), place);
    else if (kind !== null) this.#text(new TextDecoder().decode(value), kind);
  }

  #list(items: readonly unknown[], { kind, declared, depth, name }: Place): void {
    // Lists under a plural hold one command line each.
    if (kind === 'command' && !/s$/i.test(name) && items.every(isWord))
      this.commands.push({ line: '', words: items.map(String) });
    else for (const item of items) this.#visit(item, { kind, declared, depth: depth + 1, name: '' });
  }

  #mapping(entries: Entries, { kind: above, declared, depth }: Place): void {
    const split = splitCommand(entries, declared);
    if (split) this.commands.push(split.command);
    for (const [key, value] of entries) {
      const name = typeof key === 'string' ? key : '';
      // A name may itself be what is looked for: {files: {"/etc/passwd": "…"}}.
      if (above !== 'content' && /[/:~%\\]|\.\./.test(name)) this.#look(name);
      // A declaration holds for all that is below it, but for what is declared there.
      const below = declared?.below.get(name) ?? (declared?.kind === undefined ? null : declared);
      // Content is content only where it is named so; other names hold for everything below them.
      const kind = below?.kind ?? kindOfName(name) ?? (above === 'content' ? null : above);
      if (below?.kind === 'cwd') this.foldersDeclared = true;
      if (!split?.names.includes(key)) this.#visit(value, { kind, declared: below, depth: depth + 1, name });
    }
  }

  #text(text: string, kind: ArgumentKind | null): void {
    if (kind === 'content' || (text === '' && kind !== 'command')) return;
    if (++this.#count > maxTexts) this.tooMuch = true;
    if (this.tooMuch) return;
    spend(this.#budget, text.length >> 3);
    if (kind === null) this.#look(text);
    else if (kind === 'command') this.commands.push({ line: text, words: [] });
    else {
      const bare = text.trim();
      if (kind === 'cwd') this.folders.push(text);
      if (kind !== 'url' || looksLikePath(bare)) this.paths.push(text);
      if (kind === 'url' || looksLikeUrl(bare) || looksLikeRemote(text)) this.urls.push(text);
    }
  }

  /** A text whose name implies nothing. */
  #look(text: string): void {
    const line = text.trim();
    if (text.length > maxLook || text === '' || /[\n\r]/.test(line)) return;
    const isPath = [...readingsOf(line)].some(looksLikePath);
    if (isPath) this.paths.push(text);
    if (!isPath && (looksLikeUrl(line) || looksLikeRemote(line))) this.urls.push(text);
    // Clients of this language have always judged the URLs among the words of a text.
    else if (line.includes(':')) this.texts.push(text);
  }
}

const isWord = (item: unknown): boolean =>
  typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean';

/** What may hold the rest of a command that stands beside it: `{command: "rm", args: ["-rf", "/"]}`. */
const restNames = new Set<unknown>(['args', 'argv', 'arguments']);

/** A command in one argument and the rest of its words beside it: in a list, or as the rest of the line. */
function splitCommand(
  entries: Entries,
  declared: Declared | null,
): { readonly names: readonly unknown[]; readonly command: NamedCommand } | null {
  const kindOf = (name: unknown) => declared?.below.get(String(name))?.kind;
  const rest = entries.find(
    ([name, value]) =>
      restNames.has(name) &&
      kindOf(name) === undefined &&
      (typeof value === 'string' || (Array.isArray(value) && value.every(isWord))),
  );
  const first = entries.find(
    ([name, value]) =>
      typeof value === 'string' &&
      typeof name === 'string' &&
      (kindOf(name) ?? kindOfName(name)) === 'command',
  );
  if (!rest || !first) return null;
  const isLine = typeof rest[1] === 'string';
  const line = isLine ? `${first[1]} ${rest[1]}` : String(first[1]);
  const words = isLine ? [] : (rest[1] as unknown[]).map(String);
  return { names: [first[0], rest[0]], command: { line, words } };
}
