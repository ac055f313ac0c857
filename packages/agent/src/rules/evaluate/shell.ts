// Just enough of a POSIX shell's syntax to judge a command without running it: words, chaining, first command.

/** Words of a command line, quotes and backslashes resolved. Never throws; an open quote ends with the text. */
export function shellWords(command: string): string[] {
  const words: string[] = [];
  let word = '';
  let open = false;
  let quote = '';
  for (let i = 0; i < command.length; i++) {
    const char = command[i] as string;
    if (quote !== '') {
      if (char === quote) quote = '';
      else if (char === '\\' && quote === '"' && i + 1 < command.length) word += command[++i];
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      open = true;
    } else if (char === '\\' && i + 1 < command.length) {
      word += command[++i];
      open = true;
    } else if (/\s/.test(char)) {
      if (open) words.push(word);
      word = '';
      open = false;
    } else {
      word += char;
      open = true;
    }
  }
  if (open) words.push(word);
  return words;
}

/** Whether a command could start a second one, substitute another's output, or hide one in a variable. */
export const chainsCommands = (command: string): boolean => /[;|&\n\r`]|\$[({']|<\(|>\(|<</.test(command);

/** A word without the redirection it begins with: `2>/tmp/x` gives `/tmp/x`. */
export const withoutRedirect = (word: string): string => word.replace(/^\d*(?:>>|>\||<>|[<>])&?/, '');

export const isRedirect = (word: string): boolean => /^\d*[<>]/.test(word);
