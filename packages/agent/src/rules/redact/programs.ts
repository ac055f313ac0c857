// Programs that take a secret in a way of their own, as data: words of a command, and the way from there to the secret.

const command = '[^;|&\\n]{0,300}?(?<![^ \\t])';
const argument = '(?:"(?=[^"\\n]{1,512}")|\'(?=[^\'\\n]{1,512}\'))?';
const rest = '(?<v>(?<=")[^"\\n]{1,512}|(?<=\')[^\'\\n]{1,512}|[^\\s"\']{1,512})';
const inQuotes = `(?<="[^"\\n]{1,257})[^"\\n]{1,512}|(?<='[^'\\n]{1,257})[^'\\n]{1,512}`;
const behind = (mark: string): string =>
  `(?:"(?=[^"\\n]{1,512}")|'(?=[^'\\n]{1,512}')|(?!["']))[^\\s"'${mark}]{0,256}${mark}(?<v>${inQuotes}|[^\\s"']{1,512})`;
const flag = (flags: string, blanks = '[ \\t]{0,8}'): string =>
  `${command}${flags}${blanks}${argument}${rest}`;
const chosenWord = '["\']?(?<v>[^\\s"\']{6,512})';
const user = '(?!["\']?(?:\\d{1,9}:\\d{1,9}\\b|\\w{1,16}:\\/\\/))';
const scheme = '[ \\t]{1,8}(?=[^\\s]{0,255}[\\d=]|\\S{20})(?<v>[A-Za-z0-9._~+/=-]{8,512})';
const readers =
  'chpasswd|kinit|sudo -S|[^|\\n]{1,200}(?:--(?:password-stdin|with-token|stdin|passphrase-fd)\\b|\\bsecrets? (?:put|create)\\b)';

const id = '(?<v>[A-Za-z0-9/_@-]{1,512})';
const signature = '(?<=[?&][\\w-]{1,20})=(?<v>[^&\\s"\'#<>]{1,512})';
/** A private member of a JSON web key, behind the member that makes it one. */
const webKey = '(?<="kty"[^{}]{0,2048}"\\w{1,2})"\\s{0,8}:\\s{0,8}"(?<v>[\\w=-]{1,2048})';
const driver = '(?<=(?<![^\\s"\'`])[^\\s"\'`:]{1,128}:(?<v>[^\\s"\'`]{1,128})@\\w{3,4})(?=\\()';

/** Credentials in an address, behind `://`. Behind a plain word as user a password reaches to the last `@`. */
export const addresses: readonly (readonly ['own', string])[] = [
  ['own', '[/:]{3}\\w{0,128}:(?!\\d{1,5}(?:\\/|$))(?<v>[^\\s"\'<>`]{1,256})(?=@)'],
  ['own', '[/:]{3}[^\\s:/@?#]{0,128}:(?<v>[^\\s/@]{1,256})(?=@)'],
  ['own', '[/:]{3}(?=[A-Za-z_-]{0,255}\\d)(?<v>[A-Za-z0-9_-]{20,255})(?=@)'],
];

/**
 * By the last word of a command that names it, alone or in a pair. `chosen`: the value must look so. `-`: a flag of any
 * program.
 */
export const programs: { readonly [words: string]: readonly (readonly ['own' | 'chosen', string])[] } = {
  curl: [
    ['own', `${command}-[A-Za-z#]{0,8}[uU][ \\t]{0,8}${behind(':')}`],
    ['own', `${command}(?:-[A-Za-z#]{0,8}b|--cookie)[ \\t=]{0,8}${behind('=')}`],
  ],
  'redis-cli': [['own', flag('-a')]],
  ldapsearch: [['own', flag('-w')]],
  ldapmodify: [['own', flag('-w')]],
  zip: [['own', flag('-P')]],
  unzip: [['own', flag('-P')]],
  openssl: [['own', flag('-k', '[ \\t]{1,8}')]],
  smbclient: [['own', `${command}-U[ \\t]{0,8}${behind('%')}`]],
  rpcclient: [['own', `${command}-U[ \\t]{0,8}${behind('%')}`]],
  'gh secret': [['own', flag('(?:-b|--body)', '[ \\t=]{0,8}')]],
  'keyvault secret': [['own', flag('--value', '[ \\t=]{1,8}')]],
  'ssm put-parameter': [['own', flag('--value', '[ \\t=]{1,8}')]],
  sqlcmd: [['own', flag('-P')]],
  bcp: [['own', flag('-P')]],
  xfreerdp: [['own', flag('\\/p:')]],
  lftp: [['own', `${command}-u[ \\t]{0,8}${behind(',')}`]],
  http: [['own', `${command}-a[ \\t]{1,8}${behind(':')}`]],
  https: [['own', `${command}-a[ \\t]{1,8}${behind(':')}`]],
  snmpwalk: [['own', flag('-c')]],
  'doctl auth': [['own', flag('-t', '[ \\t]{1,8}')]],
  'nuget push': [['own', flag('-k', '[ \\t]{1,8}')]],
  sqlplus: [['own', '[ \\t]{1,8}[\\w$#]{1,128}\\/(?<v>[^\\s@]{1,512})(?=@)']],
  htpasswd: [
    ['own', '[ \\t]{1,8}-[A-Za-z]{0,8}b[A-Za-z]{0,8}(?:[ \\t]{1,8}\\S{1,256}){2}[ \\t]{1,8}(?<v>\\S{1,512})'],
  ],
  'net use': [['own', '[ \\t]{1,8}\\S{1,64}[ \\t]{1,8}\\\\\\\\\\S{1,256}[ \\t]{1,8}(?!\\/)(?<v>\\S{1,512})']],
  'vault login': [['chosen', `[ \\t]{1,8}${chosenWord}`]],
  'cargo login': [['chosen', `[ \\t]{1,8}${chosenWord}`]],
  'composer config': [
    ['chosen', `[ \\t]{1,8}\\S{1,128}[ \\t]{1,8}(?:[\\w.-]{1,64}[ \\t]{1,8})?${chosenWord}`],
  ],
  bearer: [['own', scheme]],
  basic: [['own', scheme]],
  'identified by': [['own', `[ \\t]{1,8}(?<v>'[^'\\n]{1,512}'|"[^"\\n]{1,512}")`]],
  echo: [
    [
      'own',
      `[ \\t]{1,8}(?:-\\w{1,4}[ \\t]{1,8})?(?<v>"[^"\\n]{1,512}"|'[^'\\n]{1,512}'|[^\\s|]{1,512})(?=[ \\t]{0,8}\\|[ \\t]{0,8}(?:${readers}))`,
    ],
  ],
  services: [['own', `(?<=hooks\\.slack\\.com\\/services)\\/${id}`]],
  workflows: [['own', `(?<=hooks\\.slack\\.com\\/workflows)\\/${id}`]],
  triggers: [['own', `(?<=hooks\\.slack\\.com\\/triggers)\\/${id}`]],
  webhooks: [['own', `(?<=discord(?:app)?\\.com\\/api\\/webhooks)\\/\\d{1,32}\\/${id}`]],
  webhook: [['own', `(?<=office\\.com\\/webhook)\\/${id}`]],
  org: [['own', '(?<=api\\.telegram\\.org)\\/bot\\d{1,20}:(?<v>[\\w-]{1,512})']],
  sig: [['own', signature]],
  'x-amz-signature': [['own', signature]],
  'x-goog-signature': [['own', signature]],
  ...Object.fromEntries(
    ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].map((part) => [part, [['own', webKey]] as const]),
  ),
  ...Object.fromEntries(['tcp', 'udp', 'unix'].map((net) => [net, [['own', driver]] as const])),
  send: [['chosen', '[ \\t(]{1,8}(?:-- )?["\'](?<v>[^"\'\\n]{6,512})(?=(?:\\\\[rn]){1,2}["\'])']],
  export: [
    [
      'own',
      `[ \\t]{1,8}(?![A-Z_]{0,64}TOKENS)[A-Z0-9_]{0,64}(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)[A-Z0-9_]{0,64}=(?<v>"[^"\\n]{1,512}"|'[^'\\n]{1,512}'|[^\\s"']{1,512})`,
    ],
  ],
  thin: [['own', ':[^\\s@/:]{1,128}\\/(?<v>[^\\s@]{1,512})(?=@)']],
  '-': [
    [
      'own',
      `-p(?!(?:ass(?:in|out|word|phrase)?|ath|erm|rint0?|rune|attern)\\b)\\s{0,8}(?<v>"[^"\\n]{1,512}"|'[^'\\n]{1,512}'|\\S{1,512})`,
    ],
    ['own', `-pass(?:in|out)?[ \\t]{1,8}["']?pass:(?<v>\\S{1,512})`],
    ['own', `(?:-[uU][ \\t]{0,8}|--(?:proxy-)?user[ \\t=]{1,8})${user}${behind(':(?!\\/\\/)')}`],
  ],
};
