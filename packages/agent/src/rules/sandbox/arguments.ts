// The paths, URLs and commands among the arguments of a call, whatever their names and however deep they lie.
import type { ToolCall } from '../evaluate/call.ts';
import { type Budget, spend } from '../regex/regex.ts';
import { type ArgumentKind, type Declared, kindOfName, placeBelow } from './names.ts';
import { decodingsOf, looksLikePath } from './path.ts';
import { looksLikeUrl } from './url.ts';

/** Texts of one call that are judged. */
const maxTexts = 10_000;
/** Mappings and lists within each other. */
const maxNesting = 64;
/** Characters of a line that is judged by its look; other texts whose name implies nothing are not judged. */
const maxLook = 4_096;

/** A command: a line for a shell, then words that are literal; one of both may be empty. */
export interface NamedCommand {
  readonly line: string;
  readonly words: readonly string[];
}

/** The name of an argument, which holds for all values below it. */
interface Name {
  readonly name: string;
  /** Where a declaration names it. */
  readonly place: string;
  /** Kind that the nearest declaration states. */
  readonly declared: ArgumentKind | null;
  /** Kind that the nearest name implies; null: the look of each text decides. */
  readonly kind: ArgumentKind | null;
}

/** Names that may hold the rest of a command beside it: `{command: "rm", args: ["-rf", "/"]}`. */
const restName = /^(?:args|argv|arguments)$/;

const areWords = (items: readonly unknown[]): boolean =>
  items.every((item) => /^(?:string|number|boolean)$/.test(typeof item));

/** Paths, URLs and commands of a call. Reading throws only for a spent budget or an accessor of the caller's own. */
export class Naming {
  readonly paths: string[] = [];
  /** Texts that are URLs or host names by their name or look. */
  readonly urls: string[] = [];
  /** Other texts that may hold URLs among their words. */
  readonly texts: string[] = [];
  readonly commands: NamedCommand[] = [];
  /** Folders that the call's commands run in, as its arguments say, or as these are declared to say. */
  readonly folders: { readonly path: string; readonly isDeclared: boolean }[] = [];
  /** A command argument that is neither text nor a list. */
  oddCommand = false;
  /** More texts or a deeper nesting than is judged. */
  tooMuch = false;
  #count = 0;
  readonly #declared: Declared;
  readonly #budget: Budget;

  constructor(call: ToolCall, declared: Declared, budget: Budget) {
    this.#declared = declared;
    this.#budget = budget;
    this.#visit(call.args, { name: '', place: '', declared: null, kind: null }, 0);
  }

  #visit(value: unknown, name: Name, depth: number): void {
    const { kind } = name;
    spend(this.#budget, 1);
    if (this.tooMuch) return;
    if (typeof value === 'string' || value instanceof String || value instanceof URL)
      this.#text(String(value), name);
    else if (typeof value === 'number' || typeof value === 'bigint') this.oddCommand ||= kind === 'command';
    else if (typeof value !== 'object' || value === null) return;
    // Bytes are content: under the name of anything else they are more than is judged.
    else if (value instanceof Uint8Array) this.tooMuch = kind !== null && kind !== 'content';
    else if (depth > maxNesting) this.tooMuch = true;
    else if (Array.isArray(value) || value instanceof Set) {
      const items = [...value];
      // Lists under a plural hold one command line each.
      if (kind === 'command' && !/s$/i.test(name.name) && areWords(items))
        this.commands.push({ line: '', words: items.map(String) });
      else for (const item of items) this.#visit(item, { ...name, name: '' }, depth + 1);
    } else this.#mapping(value instanceof Map ? [...value] : Object.entries(value), name, depth + 1);
  }

  #mapping(entries: readonly (readonly [key: unknown, value: unknown])[], above: Name, depth: number): void {
    const members = entries.map(([key, value]) => {
      const name = typeof key === 'string' ? key : '';
      const place = placeBelow(above.place, name);
      // A declaration holds for all that is below it, but for what is declared there.
      const declared = this.#declared.get(place) ?? above.declared;
      const own = declared ?? kindOfName(name);
      // Content is content only where it is named so; other names hold for everything below them.
      const kind = own ?? (above.kind === 'content' ? null : above.kind);
      return { value, name, place, declared, own, kind };
    });
    // A command in one argument and the rest of its words beside it: in a list, or as the rest of the line.
    const first = members.find(({ value, own }) => typeof value === 'string' && own === 'command');
    const rest = members.find(({ name, place, value }) => {
      const isRest = first && name !== first.name && restName.test(name) && !this.#declared.has(place);
      return isRest && (Array.isArray(value) ? areWords(value) : typeof value === 'string');
    });
    if (Array.isArray(rest?.value))
      this.commands.push({ line: String(first?.value), words: rest.value.map(String) });
    else if (rest) this.commands.push({ line: `${first?.value} ${rest.value}`, words: [] });
    for (const member of members) {
      // A name may itself be what is looked for: {files: {"/etc/passwd": "…"}}.
      if (above.kind !== 'content' && /[/:~%\\]|\.\./.test(member.name))
        this.#text(member.name, { ...member, kind: null });
      if (!rest || (member !== first && member !== rest)) this.#visit(member.value, member, depth);
    }
  }

  #text(text: string, { kind, declared }: Name): void {
    if (kind === 'content' || (text === '' && kind !== 'command')) return;
    this.tooMuch ||= ++this.#count > maxTexts;
    if (this.tooMuch) return;
    spend(this.#budget, text.length >> 3);
    const line = text.trim();
    if (kind === null && (text.length > maxLook || /[\n\r]/.test(line))) return;
    if (kind === 'command') this.commands.push({ line: text, words: [] });
    else if (kind === 'cwd') this.folders.push({ path: text, isDeclared: declared !== null });
    else if (kind === 'path' || decodingsOf(line).some(looksLikePath)) this.paths.push(text);
    if (kind === 'url' || (kind !== 'command' && looksLikeUrl(line))) this.urls.push(text);
    // Clients of this language have always judged the URLs among the words of a text.
    else if (kind === null) this.texts.push(text);
  }
}
