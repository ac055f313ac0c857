// Where a secret stands, as data: behind its name, in an address, behind a word or a flag of a program. The value is
// the group `v` and ends its match. A pattern reads a bounded stretch.
const { raw } = String;
const sticky = (source: string): RegExp => new RegExp(source, 'iy');

const quote = raw`(?:\\{0,4}["'\`]|%(?:25){0,2}2[27])`;
const sign = raw`[ \t]{0,8}(?::=|=>|\?=|=(?!=)|:(?!\/\/)|：|%(?:25){0,2}3[ad])[ \t]{0,8}`;
/** From a name to its value, over a type. Emphasis explains a name more often than it gives a value. */
const link = raw`(?!\`|[*]|:[*])${quote}?[[\]})]{0,2}${sign}(?:&?\w{1,16}(?:\[\])?[ \t]{0,8}=[ \t]{0,8}(?=["']))?`;
const value = raw`(?:\\{0,4}["'])?(?<v>(?<=")(?:(?!\\{0,4}")[^\n]){1,512}|(?<=')(?:(?!\\{0,4}')[^\n]){1,512}|[^\s"']{1,512})`;
const behind = (mark: string): string =>
  raw`\\{0,4}["']?[^\s"'${mark}]{0,256}${mark}(?<v>(?<="[^\s"']{0,300})[^"\n]{1,512}|(?<='[^\s"']{0,300})[^'\n]{1,512}|[^\s"']{1,512})`;
const readers = raw`chpasswd|kinit|sudo -S|[^|\n]{1,200}(?:--(?:[\w-]*stdin|with-token|passphrase-fd)\b|\bsecrets? (?:put|create)\b)`;

/** Behind a name, in order: the first whose value is judged a secret hides it. */
export const namedForms = [
  raw`${link}(?<q>"""|''')(?<v>(?:(?!\k<q>)[\s\S]){1,4096})(?=\k<q>)`,
  raw`${link}(?<q>\\{0,4}["'\`])(?!\s[^"'\n]{0,64}\s["'])(?<v>(?:(?!\k<q>)(?:\\[^\n]|[^\\\n])){1,4096})(?=\k<q>)`,
  raw`(?<=\b(?:authorization|cookie))${link}(?!["'])(?<v>[^\r\n"'\`]{1,512})`,
  // A block of YAML: the lines that are indented more than the key.
  raw`(?<=(?<![^\n])(?<i>[ \t]{0,64})(?:- )?["']?[\w.-]{1,64})${link}[|>][+-]?\d?[+-]?\s{1,64}(?<v>[^\n]{1,1024}(?:\r?\n(?:\k<i>[ \t]{1,64}[^\n]{1,1024}|(?=\r?\n)))*)`,
  // The first name of a line has its rest.
  raw`(?<=(?<![^\n])[ \t"'*#>-]{0,64}[\w.-]{1,64}):(?![*])[ \t]{1,8}(?!["'])(?<v>[^\r\n]{1,512})`,
  raw`(?!\`)${quote}[\]})]{0,2}${sign}(?!["'])(?<v>[^\s"'\`,}\]]{1,512})`,
  raw`%(?:25){0,2}3[ad](?<v>(?:(?!%(?:25){0,2}(?:26|22))[^\s"'\`&]){1,512})`,
  raw`${link}(?!["'])(?<v>(?:(?![;&,][A-Za-z_][\w.-]{0,127}=(?![=\s]|$))[^\s"'\`]){1,512})`,
  // Flags, commands of shells, SQL and .netrc take it behind a blank.
  raw`(?<=(?<![^\s"'\`=(;&|,[])--?[\w.-]{1,64})[ \t]{1,8}(?:\\\r?\n[ \t]{0,8})?(?![-\\])${value}`,
  raw`(?<=\b(?:setenv|setx|env|set(?= [\w.]{0,127}[_-]))[ \t]{1,8}[\w.-]{1,64})[ \t]{1,8}${value}`,
  raw`(?<=\bpassword)[ \t]{1,8}(?:(?=')|(?<=\blogin[ \t]{1,8}\S{1,64}[ \t]{1,8}password[ \t]{1,8}))${value}`,
  raw`(?<=<[\w.:-]{1,128}|["'][\w.-]{1,64})(?:\s[^<>\n]{0,256})?["']?>(?:<!\[CDATA\[)?(?<v>[^<\n]{1,512})(?=<|\]\]>)`,
].map(sticky);
/** Digits behind the name of a code, with or without `is`. */
const code = raw`(?<v>(?:\d{3}[ -]\d{3}|\d{4,8})(?![\w-]|\.\d))`;
export const codeForms = [raw`(?:${link}|[ \t]{1,8}(?:is:?[ \t]{1,8})?)["'\`]?${code}`].map(sticky);
/** Credentials in an address, behind `:`. Behind a plain word as user a password reaches to the last `@`. */
export const addressForms = [
  raw`\/\/\w{0,128}:(?!\d{1,5}(?:\/|$))(?<v>[^\s"'<>\`]{1,256})(?=@)`,
  raw`\/\/[^\s:/@?#]{0,128}:(?<v>[^\s/@]{1,256})(?=@)`,
  raw`\/\/(?=[A-Za-z_-]{0,255}\d)(?<v>[A-Za-z0-9_-]{20,255})(?=@)`,
].map(sticky);

/** A program, or two words joined by `_`, and where it takes a secret: behind the word, or by a flag (`-`: of any). */
const programs: readonly string[] = [
  raw`- => -p(?!(?:ass(?:in|out|word|phrase)?|ath|erm|rint0?|rune|attern)\b)\s{0,8}${value}`,
  raw`- => -pass(?:in|out)?[ \t]{1,8}["']?pass:(?<v>\S{1,512})`,
  raw`- => (?:-[uU][ \t]{0,8}|--(?:proxy-)?user[ \t=]{1,8})(?!["']?(?:\d{1,9}:\d{1,9}\b|\w{1,16}:\/\/))${behind(':')}`,
  raw`curl => -[A-Za-z#]{0,8}[uU][ \t]{0,8}${behind(':')}`,
  raw`curl => (?:-[A-Za-z#]{0,8}b|--cookie)[ \t=]{0,8}${behind('=')}`,
  raw`smbclient rpcclient => -U[ \t]{0,8}${behind('%')}`,
  raw`http https => -a[ \t]{1,8}${behind(':')}`,
  raw`lftp => -u[ \t]{0,8}${behind(',')}`,
  raw`zip unzip sqlcmd bcp => -P[ \t]{0,8}${value}`,
  raw`redis-cli => -a[ \t]{0,8}${value}`,
  raw`ldapsearch ldapmodify => -w[ \t]{0,8}${value}`,
  raw`openssl nuget doctl snmpwalk => -[kct][ \t]{1,8}${value}`,
  raw`gh_secret keyvault_secret ssm_put-parameter => (?:-b|--body|--value)[ \t=]{1,8}${value}`,
  raw`bearer basic => [ \t]{1,8}(?=[^\s]{0,255}[\d=]|\S{20})(?<v>[A-Za-z0-9._~+/=-]{8,512})`,
  raw`identified_by => [ \t]{1,8}(?=["'])${value}`,
  raw`echo => [ \t]{1,8}(?:-\w{1,4}[ \t]{1,8})?${value}(?=["']?[ \t]{0,8}\|[ \t]{0,8}(?:${readers}))`,
  raw`services workflows triggers => (?<=hooks\.slack\.com\/\w{1,16})\/(?<v>[\w/@-]{1,512})`,
  raw`webhook webhooks => (?<=(?:discord(?:app)?|office)\.com\/(?:api\/)?\w{7,8})(?:\/\d{1,32}(?=\/))?\/(?<v>(?!\d{1,32}\/\[)[\w/@-]{1,512})`,
  raw`org => (?<=api\.telegram\.org)\/bot\d{1,20}:(?<v>[\w-]{1,512})`,
  raw`sig x-amz-signature x-goog-signature => (?<=[?&][\w-]{1,20})=(?<v>[^&\s"'#<>]{1,512})`,
  raw`d p q dp dq qi k => (?<="kty"[^{}]{0,2048}"\w{1,2})"\s{0,8}:\s{0,8}"(?<v>[\w=-]{1,2048})`,
  raw`private-lines => :[ \t]{0,8}\d{1,4}\r?\n(?<v>[\s\S]*?)(?=\r?\nPrivate-|$)`,
  raw`sqlplus thin => [ \t:]{1,8}[\w$#]{1,128}\/(?<v>[^\s@]{1,512})(?=@)`,
  raw`export => [ \t]{1,8}(?![A-Z_]{0,64}TOKENS)[A-Z0-9_]{0,64}(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)[A-Z0-9_]{0,64}=${value}`,
  raw`vault_login cargo_login composer_config net_use htpasswd => (?:[ \t]{1,8}[^\s\d|;&]{1,64}){0,4}[ \t]{1,8}(?=[^\s\d]{0,64}\d)(?=[^\sA-Za-z]{0,64}[A-Za-z])(?<v>[^\s"']{6,512})`,
];

export const programForms = new Map<string, RegExp[]>();
for (const [words = '', source = ''] of programs.map((row) => row.split(' => ')))
  for (const word of words.split(' '))
    programForms.set(word, [...(programForms.get(word) ?? []), new RegExp(source, 'y')]);

/** Between a name and a value that looks chosen, in the same statement: no word, `is`, or a quote. */
export const beside = new RegExp(
  raw`^["'\`]{0,3},["'\`]{0,2}$|^(?! ["(])[^\w./\\,({;]{1,24}$|[^:=\s][ \t]{0,8}["'\`]$|` +
    raw`^[ \t]{1,8}(?:\(?for \S{1,64}\)?:?[ \t]{0,8})?(?:(?:is|was|set|changed|now|to|as)\b:?[ \t]{1,8})*["'\`]?$`,
);
/** The same, also further away: the name of what holds the value. */
export const holder =
  /^"(?:\r?\n){2}$|(?:\b(?:\w{0,32}value|val|default|content|data|string|plain_?text|send(?:line)?)\b["']?(?:[ \t]{0,8}[:=>(]\s{0,8}|[ \t]{1,8}(?:-- )?)|- )["']?$/i;
/** The quotes of a member `value`, with no other name before it: what they hold is a secret however it looks. */
export const member =
  /^(?:(?!(?:name|key|\bid)["']?[ \t]{0,4}[:=])[^}])*\b(?:\w{0,32}value|val)["']?\s{0,8}(?:=>|[:=>])\s{0,8}["']$/i;
