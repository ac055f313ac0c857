// Reads a command line as a POSIX shell does, without running it: its words, which of their characters keep a meaning
// for the shell, and its redirections. Knows nothing of sandboxes.

/** One word after quotes are taken away. */
export interface ShellWord {
  readonly text: string;
  /** As long as `text`, with a NUL for every character that a quote or a backslash made literal. */
  readonly live: string;
}

export interface Redirection {
  /** `<`, `>`, `>>`, `>|`, `<>`, `<&`, `>&`, `&>` or `&>>`. */
  readonly operator: string;
  readonly target: ShellWord;
}

/** One simple command. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  readonly redirections: readonly Redirection[];
  /** Words of a comment: a shell drops them, a program that only splits words does not. */
  readonly remarks: readonly ShellWord[];
}

/** A word whose every character is literal. */
export const literalWord = (text: string): ShellWord => ({ text, live: '\0'.repeat(text.length) });

/** True if a shell would look for names that match the word, or the component of it: `*`, `?`, or a set in brackets. */
export function hasWildcard({ live }: Pick<ShellWord, 'live'>): boolean {
  if (live.includes('*') || live.includes('?')) return true;
  const open = live.indexOf('[');
  return open >= 0 && live.includes(']', open + 2);
}

/**
 * Reads a command line. Null when it is more, or other, than one simple command whose words are known without running
 * it: it chains, groups or substitutes, expands a variable, holds a here-document or a NUL, or is no valid syntax.
 */
export function readCommand(text: string): ShellCommand | null {
  return new Reader(text).read();
}

const chaining = new Set([';', '|', '(', ')', '`', '\0']);
/**
 * Characters that may follow a `$` that the shell expands; `$"` and `$'` count outside double quotes only. The second
 * form is zsh's.
 */
const expansion = /^(?:[A-Za-z0-9_@*#?$!({[-]|[=~^+]+[A-Za-z0-9_({])/;
/** Characters that a backslash makes literal inside double quotes. */
const escapable = new Set(['$', '`', '"', '\\']);

class Reader {
  readonly #text: string;
  /** Behind the last character that is no blank: newlines from there on end the command and begin none. */
  readonly #end: number;
  #at = 0;
  #word = '';
  #live = '';
  #open = false;
  #operator: string | null = null;
  /** After `&>` nothing but redirections may follow: a shell that does not know it ends the command there. */
  #closed = false;
  readonly #words: ShellWord[] = [];
  readonly #redirections: Redirection[] = [];
  #remarks: ShellWord[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#end = text.trimEnd().length;
  }

  read(): ShellCommand | null {
    for (let char = this.#next(); char !== ''; char = this.#next()) {
      if (!this.#take(char)) return null;
    }
    if (!this.#endWord() || this.#operator !== null) return null;
    return { words: this.#words, redirections: this.#redirections, remarks: this.#remarks };
  }

  /** The next character, line continuations skipped; '' at the end. */
  #next(): string {
    this.#skipContinuations();
    return this.#text[this.#at++] ?? '';
  }

  #peek(): string {
    this.#skipContinuations();
    return this.#text[this.#at] ?? '';
  }

  #skipContinuations(): void {
    while (this.#text[this.#at] === '\\' && this.#text[this.#at + 1] === '\n') this.#at += 2;
  }

  /** Reads on from an unquoted character. False: no simple command. */
  #take(char: string): boolean {
    if (char === ' ' || char === '\t') return this.#endWord();
    if (char === '\n' || char === '\r') return this.#newline();
    if (chaining.has(char)) return false;
    if (char === '&') return this.#ampersand();
    if (char === '<' || char === '>') return this.#redirect(char);
    if (char === '$') return this.#dollar(true);
    if (char === "'") return this.#singleQuote();
    if (char === '"') return this.#doubleQuote();
    if (char === '#' && !this.#open) return this.#comment();
    if (char === '\\') {
      // Not `#next`: what follows a backslash is taken as it stands.
      const escaped = this.#text[this.#at++];
      // Shells differ about a backslash at the end, and a newline behind it joins what comes next.
      if (escaped === undefined) return false;
      this.#add(escaped, '\0');
    } else this.#add(char, char);
    return true;
  }

  #add(char: string, live: string): void {
    this.#word += char;
    this.#live += live;
    this.#open = true;
  }

  #endWord(): boolean {
    if (!this.#open) return true;
    const word = { text: this.#word, live: this.#live };
    this.#word = '';
    this.#live = '';
    this.#open = false;
    if (this.#operator !== null) {
      this.#redirections.push({ operator: this.#operator, target: word });
      this.#operator = null;
    } else if (this.#closed) return false;
    else this.#words.push(word);
    return true;
  }

  /** Newlines before the first word and after the last do nothing. */
  #newline(): boolean {
    if (this.#at > this.#end) return this.#endWord();
    return (
      !this.#open && this.#words.length === 0 && this.#redirections.length === 0 && this.#operator === null
    );
  }

  #ampersand(): boolean {
    if (this.#peek() !== '>') return false;
    if (!this.#endWord() || this.#operator !== null) return false;
    this.#at++;
    this.#operator = '&>';
    if (this.#peek() === '>') {
      this.#at++;
      this.#operator = '&>>';
    }
    this.#closed = true;
    return this.#peek() !== '(' && this.#peek() !== '&';
  }

  #redirect(first: string): boolean {
    // Digits right before the operator are its descriptor, not a word.
    if (this.#open && /^\d+$/.test(this.#live) && this.#operator === null) {
      this.#word = '';
      this.#live = '';
      this.#open = false;
    }
    if (!this.#endWord() || this.#operator !== null) return false;
    let operator = first;
    const second = this.#peek();
    if (second === '(' || (first === '<' && second === '<')) return false;
    if (second === '&' || second === '>' || (first === '>' && second === '|')) {
      this.#at++;
      operator += second;
    }
    this.#operator = operator;
    return true;
  }

  /** After a `$`: false when the shell expands it. */
  #dollar(unquoted: boolean): boolean {
    this.#skipContinuations();
    let following = this.#text.slice(this.#at, this.#at + 64);
    if (following.includes('\\\n')) following = following.replaceAll('\\\n', '');
    if (expansion.test(following) || (unquoted && /^["']/.test(following))) return false;
    this.#add('$', unquoted ? '$' : '\0');
    return true;
  }

  #singleQuote(): boolean {
    const end = this.#text.indexOf("'", this.#at);
    if (end < 0) return false;
    const inside = this.#text.slice(this.#at, end);
    if (inside.includes('\0')) return false;
    this.#add(inside, '\0'.repeat(inside.length));
    this.#at = end + 1;
    return true;
  }

  #doubleQuote(): boolean {
    this.#open = true;
    for (let char = this.#next(); char !== '"'; char = this.#next()) {
      if (char === '' || char === '`' || char === '\0') return false;
      if (char === '$') {
        if (!this.#dollar(false)) return false;
      } else if (char === '\\' && escapable.has(this.#text[this.#at] ?? '')) {
        this.#add(this.#text[this.#at++] as string, '\0');
      } else this.#add(char, '\0');
    }
    return true;
  }

  #comment(): boolean {
    const rest = this.#text.slice(this.#at, this.#end);
    if (/[\n\r\0]/.test(rest)) return false;
    this.#remarks = (rest.match(/[^ \t]+/g) ?? []).map((word) =>
      literalWord(word.replace(/^["']|["']$/g, '')),
    );
    this.#at = this.#text.length;
    return true;
  }
}
