// Words in which programs find commands: behind names of programs, in variables, settings and addresses.

/** Characters without a meaning to any shell, and no blanks. */
export const plain = /^[^\s$`;&|<>(){}\\"'*?[\]~!#]*$/;
/** Letters of options with a plain value, in which no other option begins. */
export const letters = /^[\w.,:+%@-]*$/;
export const shells = /^(?:(?:r?ba|z|d?a|m?k|ya|fi|t?c)?sh)$/;
/** Programs that run the text in one of their words. */
export const carriers =
  /^(?:env|\w*tar|zip|rsync|sort|man|flock|su|runuser|script|np[mx]|split|fish|nc|ncat|netcat|fc|watch|parallel|git|s(?:sh|cp|ftp|shfs)|(?:r?ba|z|d?a|m?k|ya|t?c)?sh)$/;
/** Options before a command line, wherever among the words they are. */
export const lineOptions: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^(?:-(?=[A-Za-z]).*S|--s[a-z-]*)$/s],
  ['npm', /^(?:-(?=[A-Za-z]).*c|--c(?:a(?:ll?)?)?)$/s],
  ['npx', /^(?:-(?=[A-Za-z]).*c|--c(?:a(?:ll?)?)?)$/s],
]);
/** Variables that programs run, and settings of git that it runs. */
export const variable =
  /^(?:[\w.-]*(?:PAGER|EDIT(?:OR)?|VISUAL|BROWSER|_COMMAND\d*|ASKPASS|LESSOPEN|LESSCLOSE|_[RS]SH|GIT_EXTERNAL_DIFF|GIT_CONFIG_\w*|HGMERGE|_WRAPPER|_RUNNER|TAR_OPTIONS|command|cmd|program|helper|external|textconv|driver|clean|smudge|process|fsmonitor|hook|gitproxy|difffilter|uploadpack|receivepack|httpd|smtpserver)|(?:pager|difftool|mergetool)\.[^=]*)=(.+)$/is;
/** Variables and subscripts that shells expand by themselves; addresses, remotes and settings that are commands. */
export const expanded =
  /^(?:(?:ENV|BASH_ENV|R?PS\d|R?PROMPT\d?|MAILPATH)\+?=.*(?:\$[({[\w]|`)|BASH_FUNC_|\w+\+?=.*\[[^\][]*(?:\$[({[]|`)|(?:EXEC|SYSTEM):|[|!](?:[/.~]|.*[^\w.*/-])|[\w.-]+=!|ext::|--config-env|(?:Proxy|Local|KnownHosts)Command[\s=])/is;
export const subscript = /\[[^\][]*(?:\$[({[]|`)/;
/** Curl expands braces and ranges itself, also in quotes: they may spell a scheme, or a folder below `file:`. */
export const curlPattern =
  /^(?!\[[\da-f:.]+\])(?=[^\s"']*:)(?=.*\/)(?:file:[^\s"']*|[^\s"'/]*)[{[][^\s"']*$/i;
