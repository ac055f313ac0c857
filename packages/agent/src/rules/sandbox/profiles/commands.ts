// Words in which programs find commands: behind names of programs, in variables, settings and addresses.

const { raw } = String;

/** No blanks, no character with a meaning to a shell, and no option that makes a shell run the next word. */
export const plain = /^(?![-+](?=[A-Za-z]).*c)[^\s$`;&|<>(){}\\"'*?[\]~!#]*$/;
const shells = /^(?:(?:r?ba|z|d?a|m?k|ya|fi|t?c)?sh)$/;
/** Programs that run the text in one of their words. */
export const carriers =
  /^(?:env|\w*tar|zip|rsync|sort|man|flock|su|runuser|script|np[mx]|split|fish|nc|ncat|netcat|fc|watch|parallel|git|s(?:sh|cp|ftp|shfs)|(?:r?ba|z|d?a|m?k|ya|t?c)?sh)$/;

/** A text up to its first character with a meaning to some shell. */
const toMark = raw`[^\0]*[\s$\x60;&|<>(){}\\"'*?[\]~!#]`;
/** The value of a setting that is more than one plain word. */
const setting = raw`=(?=[^\0])${toMark}`;
/** Such a character behind a letter among short options, or behind a long one: in this word, or in the next. */
const marksBehind = (letter: string, long: string): RegExp => {
  const toLetter = raw`(?:[^\0${letter}]|${letter}(?!=))*${letter}=`;
  return new RegExp(raw`^(?:-(?=[A-Za-z])(?:${toLetter}|[^\0]*${letter}\0)|${long}[\0=])${toMark}`);
};

/** Programs, and words in which they find a command; the next word follows behind a NUL. */
export const hiding: readonly (readonly [programs: RegExp, word: RegExp])[] = [
  // An option may begin behind the value of another one, unless that is plain.
  [carriers, /^-[A-Za-z][^\0]*[^\w.,:+%@\0-]/],
  [shells, /^\+/],
  // Letters without a dash that make tar run the next word.
  [/tar$/, /^(?:[^\0]*\/)?[\w-]*tar(?:\.[eE][xX][eE])?\0[A-Za-z]*[IF]/],
  // A subscript that builtins expand: `a[$(…)]`. Texts may hold one.
  [/^(?!(?:[ef]?grep|rg|sed|[gm]?awk|echo|tr|git)$)/, /^[^\0]*\[[^\][\0]*(?:\$[({[]|`)/],
  [/^watch$/, new RegExp(`^${toMark}`)],
  [/^env$/, marksBehind('S', '--s[a-z-]*')],
  [/^np[mx]$/, marksBehind('c', '--c(?:a(?:ll?)?)?')],
  // Variables that programs run, and settings of git that it runs.
  [
    /^/,
    new RegExp(
      raw`^(?:[\w.-]*(?:PAGER|EDIT(?:OR)?|VISUAL|BROWSER|_COMMAND\d*|ASKPASS|LESSOPEN|LESSCLOSE|_[RS]SH|GIT_EXTERNAL_DIFF|(?==)(?<=GIT_CONFIG_\w*)|HGMERGE|_WRAPPER|_RUNNER|TAR_OPTIONS|command|cmd|program|helper|external|textconv|driver|clean|smudge|process|fsmonitor|hook|gitproxy|difffilter|uploadpack|receivepack|httpd|smtpserver)|(?:pager|difftool|mergetool)\.[^=\0]*)${setting}`,
      'i',
    ),
  ],
  // Variables and subscripts that shells expand by themselves; addresses, remotes and settings that are commands.
  [
    /^/,
    /^(?:(?:ENV|BASH_ENV|R?PS\d|R?PROMPT\d?|MAILPATH)\+?=[^\0]*(?:\$[({[\w]|`)|BASH_FUNC_|\w+\+?=[^\0]*\[[^\][\0]*(?:\$[({[]|`)|(?:EXEC|SYSTEM):|[|!](?:[/.~]|[^\0]*[^\w.*/\0-])|[\w.-]+=!|ext::|--config-env|(?:Proxy|Local|KnownHosts)Command[\s=])/i,
  ],
];
/** Curl expands braces and ranges itself, also in quotes: they may spell a scheme, or a folder below `file:`. */
export const curlPattern = /^(?!\[[\da-f:.]+\])(?=[^\s"']*$)(?=.*:)(?=.*\/)(?:file:.*|[^/]*)[{[]/i;

/** Up to the port, or the path, of a URL with one of the schemes that programs are commonly given. */
export const addressOfUrl =
  /^(?:https?|wss?|s?ftp|ssh|git(?:\+ssh)?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|nats|tcp|grpc|s3|gs):\/\/[^\s:]*/i;
