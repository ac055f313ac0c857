// The forms in which a value stands behind its name, as data: patterns that begin where the name ends and end where the
// value does. Each repetition has an upper bound but that of a block, which is hidden to its end: a pattern reads a
// bounded stretch, or what is then passed over.

/** `own`: as sure as the name is. `chosen`: the value must look chosen. `drawn`: it must look drawn. `code`: digits. */
export type Judgement = 'own' | 'chosen' | 'drawn' | 'code';

const quote = '(?:\\\\{0,4}["\'`]|%(?:25){0,2}2[27])';
const sign = '(?::=|=>|\\?=|=(?!=)|:(?!\\/\\/)|：|%(?:25){0,2}3[ad])';
const link = `${quote}?[*]{0,2}[\\]})]{0,2}[ \\t]{0,8}${sign}[*]{0,2}[ \\t]{0,8}`;
/** Behind emphasis a name is explained more often than it is given. */
const emphatic = `(?:\`|[*]{1,2})[ \\t]{0,8}${sign}[*]{0,2}[ \\t]{0,8}[*\`"']{0,3}|:[*]{1,2}[ \\t]{0,8}[\`"']?`;
const notEmphatic = '(?!`|[*]|:[*])';
const blanks = '[ \\t]{1,8}';
const quoted = '(?<q>["\'`]|\\\\{1,4}["\'])(?:(?!\\k<q>)(?:\\\\[^\\n]|[^\\\\\\n])){1,4096}\\k<q>';
const bare = '(?:(?![;&,][A-Za-z_][\\w.-]{0,127}=(?![=\\s]|$))[^\\s"\'`]){1,512}';
const word = '[^\\s"\'`,;<>()[\\]{}|│║┃]{6,512}(?![\\w(])';
/** A flag, where one may begin. */
const flagged = '(?<=(?<![^\\s"\'`=(;&|,[])--?[\\w.-]{1,64})';
const firstInLine = '(?<=(?<![^\\n])[ \\t"\'*#>-]{0,64}[\\w.-]{1,64})';
const is = '(?:is|was|to|as|set to|changed to|is now|(?:is|was|was changed|is set|was set) to)';
const spokenLink = `${blanks}(?:\\(?for${blanks}[^\\s()]{1,64}\\)?(?::|${blanks}${is}:?)|${is}[ \\t]{0,8}:?)${blanks}["'\`]?`;
const otherKey = '(?:\\w*name|\\w*key|\\bid)["\']?[ \\t]{0,4}[:=]';
const valueName =
  '(?:\\w{0,32}value|val)["\']?(?:[ \\t]{0,8}(?:=>|[:=>](?![=>]))\\s{0,8}|(?<=--value)[ \\t=]{1,8})';
const holder =
  '\\b(?:default|content|data|string|plain_?text|S|values?|send(?:line)?)\\b["\']?(?:[ \\t]{0,8}[:=>]\\s{0,8}|[ \\t]{1,8}(?:-- )?|\\()';

/** In order: the first whose value is judged a secret hides it. The value is the group named `v`. */
export const forms: readonly (readonly [Judgement, string])[] = [
  ['chosen', `(?:${emphatic})(?<v>[^\\s"'\`*]{1,512})`],
  ['own', `${notEmphatic}${link}(?<v>"""(?:(?!""")[^]){1,4096}"""|'''(?:(?!''')[^]){1,4096}''')`],
  [
    'own',
    `${notEmphatic}${quote}[\\]})]{0,2}[ \\t]{0,8}${sign}[ \\t]{0,8}(?<q>["'\`]|\\\\{1,4}["'])(?<v>(?:(?!\\k<q>)(?:\\\\[^\\n]|[^\\\\\\n])){1,4096})(?=\\k<q>)`,
  ],
  ['own', `${notEmphatic}(?<!["'\`][\\w.*-]{1,64})${link}(?<v>${quoted})`],
  ['own', `${notEmphatic}(?<=(?<o>["'\`])[\\w.*-]{1,64})(?!["'])${link}(?!\\k<o>)(?<v>${quoted})`],
  ['own', `(?<=\\b(?:authorization|cookie))${link}(?!["'])(?<v>[^\\r\\n"'\`]{1,512})`],
  // A block of YAML: the lines that are indented more than the key.
  [
    'own',
    `(?<=(?<![^\\n])(?<i>[ \\t]{0,64})(?:- )?["']?[\\w.-]{1,64})${link}[|>][+-]?\\d?[+-]?[ \\t]{0,8}\\r?\\n[ \\t]{0,64}(?<v>[^\\n]{1,1024}(?:\\r?\\n(?:\\k<i>[ \\t]{1,64}[^\\n]{1,1024}|(?=\\r?\\n)))*)`,
  ],
  ['own', `${notEmphatic}${firstInLine}:[ \\t]{1,8}(?!["'])(?<v>[^\\r\\n]{1,512})`],
  [
    'own',
    `${notEmphatic}${quote}[\\]})]{0,2}[ \\t]{0,8}${sign}[ \\t]{0,8}(?!["'])(?<v>[^\\s"'\`,}\\]]{1,512})`,
  ],
  ['own', `%(?:25){0,2}3[ad](?<v>(?:(?!%(?:25){0,2}(?:26|22))[^\\s"'\`&]){1,512})`],
  ['own', `${notEmphatic}${link}(?!["'])(?<v>${bare})`],
  [
    'chosen',
    `${link}(?:\\[[ \\t]{0,4}["'][^"'\\n]{0,64}["'],[ \\t]{0,4}["']|\\r?\\n[ \\t]{0,32}-[ \\t]{1,8}["']?)(?<v>[^\\s"'#]{1,512})`,
  ],
  ['own', `${flagged}[ \\t]{1,8}(?:\\\\\\r?\\n[ \\t]{0,8})?(?![-\\\\])(?<v>${quoted}|\\S{1,512})`],
  [
    'own',
    `(?<=(?<![\\w.-])(?:(?:setenv|setx|env)|set(?= [\\w.]{0,127}[_-]))[ \\t]{1,8}[\\w.-]{1,64})${blanks}(?<v>${quoted}|\\S{1,512})`,
  ],
  ['own', `(?<=\\blogin[ \\t]{1,8}\\S{1,64}[ \\t]{1,8}password)${blanks}(?<v>\\S{1,512})`],
  ['own', `(?<=\\bpassword)[ \\t]{1,8}(?<v>'[^'\\n]{1,512}')`],
  [
    'own',
    `(?<=<[\\w.:-]{1,128}|["'][\\w.-]{1,64})(?:\\s[^<>\\n]{0,256})?["']?>(?:<!\\[CDATA\\[)?(?<v>[^<\\n]{1,512})(?=<|\\]\\]>)`,
  ],
  [
    'own',
    `(?<=["']value["']\\s{0,8}:\\s{0,8}["'](?<v>[^"'\\n]{1,512})["']\\s{0,8},\\s{0,20}["'](?:name|key)["']\\s{0,8}:\\s{0,8}["'][\\w.-]{1,64})["']`,
  ],
  ['own', '"\\r?\\n\\r?\\n(?<v>[^\\s]{1,512})'],
  ['own', `(?:(?!${otherKey})[^}]){0,120}?\\b${valueName}(?<q>["'])(?<v>[^"'\\n]{1,512})(?=\\k<q>)`],
  [
    'own',
    `(?:(?!${otherKey})[^}]){0,120}?\\n[ \\t-]{0,32}${valueName}(?<v>[^\\s"'<]{1,512})(?=[ \\t]{0,8}(?:\\r?\\n|$))`,
  ],
  ['chosen', `(?:(?!${otherKey})[^}]){0,120}?\\b${valueName}["']?(?<v>[^\\s"'<,;}]{1,512})`],
  ['chosen', `(?:(?!${otherKey})[^}]){0,120}?${holder}["']?(?<v>[^\\s"'<,;}]{1,512})`],
  ['chosen', `["'\`*_]{0,3}[ \\t]{0,16}(?:->|<-|[→⇒—–|│║┃])[ \\t]{0,16}["'\`*]{0,3}(?<v>${word})`],
  ['chosen', `(?:[ \\t]{2,16}|\\t)["'\`]?(?<v>${word})`],
  ['chosen', `${firstInLine}["']?,["']?(?<v>${word})`],
  ['chosen', `${spokenLink}(?<v>${word})`],
  [
    'chosen',
    `(?<=(?<![\\w-])(?:passw(?:or)?d|passphrase|passcode|requirepass|masterauth|bindpw|rootpw|:_\\w{1,32}))${blanks}["'\`]?(?<v>${word})`,
  ],
  ['chosen', `${blanks}["'\`](?<v>${word})(?=["'\`])`],
  [
    'chosen',
    `(?:(?!["'\\w][ \\t]{0,4}(?::|=(?![=>])))[^\\r\\n;}]){0,160}?(?<q>["'\`])(?<v>[^\\s"'\`]{6,512})(?=\\k<q>(?![ \\t]{0,4}:))`,
  ],
  ['chosen', `:[ \\t]{0,8}&?\\w{1,16}(?:\\[\\])?[ \\t]{0,8}=[ \\t]{0,8}["'](?<v>[^\\s"'\`]{6,512})`],
  ['drawn', `[^]{0,64}?(?<![\\w+/=-])(?<v>[A-Za-z0-9+/_=.~-]{20,512})`],
  ['code', `(?:${spokenLink}|${blanks})["'\`]?(?<v>(?:\\d{3}[ -]\\d{3}|\\d{4,8})(?![\\w-]|\\.\\d))`],
];
