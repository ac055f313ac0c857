// The data of redaction: names of secrets, and where the value behind a name or a program stands. A value is the group
// `v` and ends its match. A pattern reads a bounded stretch.
const { raw } = String;

/** The values behind a name that are secrets: any, texts, all but folders, digits, values by their look, none. */
export type Strength = 'any' | 'text' | 'path' | 'code' | 'chosen' | 'none';

/** A strength and its names; a later row beats an earlier one. */
export const lists: readonly string[] = [
  'text pass pw creds cred jwt bearer authheader mnemonic seed_phrase recovery_phrase secret_phrase backup_phrase passcode',
  'text pgpass secret_string securestring convertto_securestring from_literal add_mask requirepass keypass masterauth bindpw',
  'any password secret token api_key apikey api-key authorization auth credentials private_key privatekey access_token',
  'any refresh_token client_secret connection_string database_url db_password ssh_key passphrase',
  'any assword passwort kennwort contraseña passe senha wachtwoord hasło пароль 密码 密碼 パスワード 비밀번호',
];
/** Strengths of other names; the first that fits counts. */
export const patterns = [
  raw`none ^(?:(?:max|num|total|completion|prompt|cached?|reasoning|audio|input|(?:max_)?output)_tokens|(?:sort|index)_keys)$`,
  raw`text (?:^|_)(?:psk|(?:admin|app|auth|basic|become|bind|database|db|docker|email|ftp|git|http|imap|key|ldap|login)_?pass\d*)$`,
  raw`text (?:^|_)(?:rootpw|(?:mail|mongo|mysql|pg|postgres|proxy|redis|registry|root|sftp|smtp|ssh|store|sudo|user|vnc|wifi)_?pass\d*)$`,
  raw`path (?:^|_)(?:old)?pwd\d*$`,
  raw`code (?:^|_)(?:pin|t?otp|cv[vc]2?|(?:mfa|2fa|tfa|sms|verification|one_time|security|login)_code)$`,
  raw`any (?:token|(?:pass_?(?:word|wd|phrase)|secret|credential)s?|connection_?string)_?\d*$|(?:^|_)(?:proxy_authorization|cookie)$`,
  raw`any (?:api|access|secret|private)_?keys?\d*$|(?:_key_data|secret_key_base|^(?:tls|wpa)_key)$`,
  raw`any (?:^|_)(?:auth|account|encryption|signing|master|service|storage|deploy|ssh|gpg|license|webhook|pre_?shared)_?keys?\d*$`,
].map((row) => ({ strength: row.split(' ')[0] as Strength, pattern: new RegExp(row.split(' ')[1] ?? '') }));
/** A part of a key that makes its value a secret. In running text it may stand for anything: `key=`, `tokens:`. */
export const part = /(?:^|_)(?:token|key|secret|password|credential|passwd|passphrase)s?\d*(?:_|$)/;
/** Every sensitive name has one of these; most names have none. */
export const stem =
  /pass|pwd|pw|psk|secret|token|key|cred|cookie|auth|string|database|pin|otp|code|cv[vc]|phrase|mnemonic|jwt|bearer|literal|mask|sswor|kennw|contrase|senha|wacht|hasło|парол|密|パス|비밀/i;
/** Words of a text that are a topic more often than a name. */
export const topic =
  /(?:^|[^\w-])(?:(?:api|access|secret|private) key|(?:seed|recovery) phrase|auth)$|basic_?auth$/i;

const quote = raw`(?:\\{0,4}["'\`]|%(?:25){0,2}2[27])`;
const sign = raw`[ \t]{0,8}(?::=|=>|\?=|=(?!=)|:(?!\/\/)|：|%(?:25){0,2}3[ad])[ \t]{0,8}`;
/** From a name to its value, over a type. Emphasis explains a name more often than it gives a value. */
const link = raw`(?!\`|[*]|:[*])${quote}?[[\]})]{0,2}${sign}(?:&?\w{1,16}(?:\[\])?[ \t]{0,8}=[ \t]{0,8}(?=["']))?`;
const value = raw`(?:\\{0,4}["'])?(?<v>(?<=")(?:(?!\\{0,4}")[^\n]){1,512}|(?<=')(?:(?!\\{0,4}')[^\n]){1,512}|[^\s"']{1,512})`;
const behind = (marks: string): string =>
  raw`\\{0,4}["']?[^\s"'${marks}]{0,256}[${marks}](?<v>(?<="[^\s"']{0,300})[^"\n]{1,512}|(?<='[^\s"']{0,300})[^'\n]{1,512}|[^\s"']{1,512})`;
/** Behind one of some programs, in the same command. */
const of = (programs: string): string => raw`(?<=\b(?:${programs})\b[^\n|&;]{0,256})`;
const readers = raw`chpasswd|kinit|sudo -S|[^|\n]{1,200}(?:--(?:[\w-]*stdin|with-token|passphrase-fd)\b|\bsecrets? (?:put|create)\b)`;

/** Up to 1,000 lines of a YAML block. The platform bounds how many places a pattern may return to. */
export const linesOfBlock = (indent: string): string =>
  raw`(?:\r?\n(?:${indent}[ \t]{1,64}[^\n]{1,1024}|(?=\r?\n))){1,1000}`;

/** Behind a name, in order: the first whose value is judged a secret hides it. */
export const namedForms = [
  raw`${link}(?<q>\\{0,4}["'\`])(?!\s[^"'\n]{0,64}\s["'])(?<v>(?:(?!\k<q>)(?:\\[^\n]|[^\\\n])){1,4096})(?=\k<q>)`,
  raw`(?<=\b(?:authorization|cookie))${link}(?!["'])(?<v>[^\r\n"'\`]{1,512})`,
  // A block of YAML: the lines that are indented more than the key.
  raw`(?<=(?<![^\n])(?<i>[ \t]{0,64})(?:- )?["']?[\w.-]{1,64})${link}[|>][+-]?\d?[+-]?\s{1,64}(?<v>[^\n]{1,1024}(?:${linesOfBlock(raw`\k<i>`)})?)`,
  // The first name of a line has its rest.
  raw`(?<=(?<![^\n])[ \t"'*#>-]{0,64}[\w.-]{1,64}):(?![*])[ \t]{1,8}(?!["'])(?<v>[^\r\n]{1,512})`,
  raw`(?!\`)${quote}[\]})]{0,2}${sign}(?!["'])(?<v>[^\s"'\`,}\]]{1,512})`,
  raw`${link}(?!["'])(?<v>(?:(?![;&,][A-Za-z_][\w.-]{0,127}=(?![=\s]|$)|%(?:25){0,2}(?:26|22))[^\s"'\`]){1,512})`,
  // Flags, commands of shells, SQL and .netrc take it behind a blank.
  raw`(?<=(?<![^\s"'\`=(;&|,[])--?[\w.-]{1,64})[ \t]{1,8}(?:\\\r?\n[ \t]{0,8})?(?![-\\])${value}`,
  raw`(?<=\b(?:setenv|setx|env|set(?= [\w.]{0,127}[_-]))[ \t]{1,8}[\w.-]{1,64})[ \t]{1,8}${value}`,
  raw`(?<=\bpassword)[ \t]{1,8}(?:(?=')|(?<=\blogin[ \t]{1,8}\S{1,64}[ \t]{1,8}password[ \t]{1,8}))${value}`,
  raw`(?<=<[\w.:-]{1,128}|["'][\w.-]{1,64})(?:\s[^<>\n]{0,256})?["']?>(?:<!\[CDATA\[)?(?<v>[^<\n]{1,512})(?=<|\]\]>)`,
].map((source) => new RegExp(source, 'iy'));

/** Words in lower case, and what follows them; `-`: a flag; `:`: an address. */
const triggers: readonly string[] = [
  // Behind a plain word as user a password reaches to the last `@`.
  raw`: => \/\/\w{0,128}:(?!\d{1,5}(?:\/|$))(?<v>[^\s"'<>\`]{1,256})(?=@)`,
  raw`: => \/\/[^\s:/@?#]{0,128}:(?<v>[^\s/@]{1,256})(?=@)`,
  raw`: => \/\/(?=[A-Za-z_-]{0,255}\d)(?<v>[A-Za-z0-9_-]{20,255})(?=@)`,
  raw`: => \/\/(?:hooks\.slack\.com\/\w{1,16}\/|discord(?:app)?\.com\/api\/webhooks\/\d{1,32}\/|[\w-]{1,64}\.webhook\.office\.com\/\w{1,16}\/|api\.telegram\.org\/bot\d{1,20}:)(?<v>[\w/@-]{1,512})`,
  raw`- => -p(?!(?:ass(?:in|out|word|phrase)?|ath|erm|rint0?|rune|attern)\b)\s{0,8}${value}`,
  raw`- => (?:-[uU][ \t]{0,8}|--(?:proxy-)?user[ \t=]{1,8})(?!["']?(?:\d{1,9}:\d{1,9}\b|\w{1,16}:\/\/))${behind(':')}`,
  raw`- => (?:-[A-Za-z#]{0,8}[abuU]|--cookie)[ \t=]{0,8}${of('curl|smbclient|rpcclient|https?|lftp')}${behind(':%,=')}`,
  raw`- => -[Pa][ \t]{0,8}${of('zip|unzip|sqlcmd|bcp|redis-cli')}${value}`,
  raw`- => -[kctw][ \t]{1,8}${of('openssl|nuget|doctl|snmpwalk|ldapsearch|ldapmodify')}${value}`,
  raw`- => (?:-b|--body|--value)[ \t=]{1,8}${of('(?:gh|keyvault) secret|ssm put-parameter')}${value}`,
  raw`by => (?<=\bidentified by|IDENTIFIED BY)[ \t]{1,8}(?=["'])${value}`,
  raw`echo => [ \t]{1,8}(?:-\w{1,4}[ \t]{1,8})?${value}(?=["']?[ \t]{0,8}\|[ \t]{0,8}(?:${readers}))`,
  raw`sig x-amz-signature x-goog-signature => (?<=[?&][\w-]{1,20})=(?<v>[^&\s"'#<>]{1,512})`,
  raw`sqlplus thin => [ \t:]{1,8}[\w$#]{1,128}\/(?<v>[^\s@]{1,512})(?=@)`,
  raw`export => [ \t]{1,8}(?![A-Z_]{0,64}TOKENS)[A-Z0-9_]{0,64}(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)[A-Z0-9_]{0,64}=${value}`,
  raw`login config use htpasswd => (?<=\b(?:(?:vault|cargo) login|composer config|net use|htpasswd))(?:[ \t]{1,8}[^\s\d|;&]{1,64}){0,4}[ \t]{1,8}(?=[^\s\d]{0,64}\d)(?=[^\sA-Za-z]{0,64}[A-Za-z])(?<v>[^\s"']{6,512})`,
];
export const formsByTrigger = new Map<string, RegExp[]>();
for (const [words = '', source = ''] of triggers.map((row) => row.split(' => ')))
  for (const word of words.split(' '))
    formsByTrigger.set(word, [...(formsByTrigger.get(word) ?? []), new RegExp(source, 'y')]);

/** Between a name and a value that looks chosen: the name of what holds the value; no word, `is`, or a quote. */
export const between = [
  raw`^"(?:\r?\n){2}$`,
  raw`(?:\b(?:\w{0,32}value|val|default|content|data|string|plain_?text|send(?:line)?)\b["']?(?:[ \t]{0,8}[:=>(]\s{0,8}|[ \t]{1,8}(?:-- )?)|- )["']?$`,
  raw`^["'\`]{0,3},["'\`]{0,2}$|^(?! ["(])[^\w./\\,({;\n]{1,24}$|[^:=\s][ \t]{0,8}["'\`]$`,
  raw`^[ \t]{1,8}(?:\(?for [^\s=]{1,64}\)?:?[ \t]{0,8})?(?:(?:is|was|set|changed|now|to|as)\b:?[ \t]{1,8})*["'\`]?$`,
].map((source) => new RegExp(source, 'i'));
