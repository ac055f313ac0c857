// Secrets that well-known programs and services take in ways of their own: flags of one letter, words of a command,
// parts of an address. Linear in the text's length.
import { looksChosen } from './chosen.ts';
import { redacted } from './secret.ts';

/** Where a flag may begin. */
export const before = String.raw`(?<![^\s"'\x60=(;&|,[])`;
export const quotedOrRun = String.raw`(?:"[^"\n]*"|'[^'\n]*'|\S+)`;

/** Programs that take a secret by a flag of one letter. */
const flagsOfPrograms: readonly { readonly program: RegExp; readonly flag: RegExp }[] = [
  { program: /\bredis-cli\b/, flag: new RegExp(String.raw`(${before}-a[ \t]*)${quotedOrRun}`, 'g') },
  { program: /\bldap\w{1,16}\b/, flag: new RegExp(String.raw`(${before}-w[ \t]*)${quotedOrRun}`, 'g') },
  { program: /\b(?:un)?zip\b/, flag: new RegExp(String.raw`(${before}-P[ \t]*)${quotedOrRun}`, 'g') },
  { program: /\bopenssl\b/, flag: new RegExp(String.raw`(${before}-k[ \t]+)${quotedOrRun}`, 'g') },
  { program: /\b(?:smb\w{1,16}|rpcclient)\b/, flag: /((?<!\S)-U[ \t]*[^\s%]{1,128}%)\S+/g },
  {
    program: /\bcurl\b/,
    flag: new RegExp(
      String.raw`(${before}(?:-[A-Za-z#]{1,8}[uU][ \t]*["']?[^\s"':]{1,256}:|(?:-[A-Za-z#]{0,8}b|--cookie)[ \t=]*["']?[\w.-]{1,128}=))[^\s"';]+`,
      'g',
    ),
  },
  {
    program: /\bgh[ \t]+secret\b/,
    flag: new RegExp(String.raw`(${before}(?:-b[ \t]*|--body[ \t=]+))${quotedOrRun}`, 'g'),
  },
  {
    program: /\bcreate[ \t]+secret\b/,
    flag: new RegExp(String.raw`(${before}--from-literal[ \t=]+["']?[\w.-]{1,128}=)[^\s"']+`, 'g'),
  },
  {
    program: /\b(?:keyvault[ \t]+secret|ssm[ \t]+put-parameter\b.*\bSecureString|secretsmanager)\b/,
    flag: new RegExp(String.raw`(${before}--(?:value|secret-string)[ \t=]+)${quotedOrRun}`, 'g'),
  },
  {
    program: /\bConvertTo-SecureString\b/i,
    flag: /(\bConvertTo-SecureString[ \t]+(?:-String[ \t]+)?)("[^"\n]*"|'[^'\n]*')/gi,
  },
  { program: /\b(?:sqlcmd|bcp)\b/, flag: new RegExp(String.raw`(${before}-P[ \t]*)${quotedOrRun}`, 'g') },
  { program: /\bfreerdp\b|\bxfreerdp\b|\bmstsc\b/, flag: /((?<!\S)\/p:)\S+/g },
  { program: /\bsqlplus\b/, flag: /((?<!\S)[\w$#]{1,128}\/)[^\s@]+(?=@)/g },
  { program: /\blftp\b/, flag: /((?<!\S)-u[ \t]*[^\s,]{1,128},)\S+/g },
  { program: /\bhttps?[ \t]/, flag: new RegExp(String.raw`(${before}-a[ \t]+[^\s:"']{1,128}:)\S+`, 'g') },
  { program: /\bsnmp\w{1,16}\b/, flag: /((?<!\S)-c[ \t]*)\S+/g },
  { program: /\bdoctl[ \t]+auth\b/, flag: /((?<!\S)-t[ \t]+)\S+/g },
  { program: /\bnuget[ \t]+push\b/, flag: /((?<!\S)-k[ \t]+)\S+/g },
  { program: /\bnet[ \t]+use\b/, flag: /(\buse[ \t]+\S+[ \t]+\\\\\S+[ \t]+)(?!\/)\S+/g },
  { program: /\bnet[ \t]+user\b/, flag: /(\buser[ \t]+[\w.-]+[ \t]+)(?!\/)\S+/g },
];

/** A secret that is told to a program through a pipe. */
const piped = new RegExp(
  String.raw`(\b(?:echo|printf)[ \t]{1,8}(?:-\w{1,4}[ \t]{1,8})?)${quotedOrRun}(?=[ \t]{0,8}\|[ \t]{0,8}(?:sudo[ \t]{1,8}-S|(?:sudo[ \t]{1,8})?chpasswd\b|kinit\b|[^|\n]{1,200}(?:--(?:password-stdin|with-token|stdin|passphrase-fd)\b|\bsecrets?[ \t]{1,8}(?:put|create)\b)))`,
  'g',
);
const htpasswd =
  /(\bhtpasswd[ \t]{1,8}-[A-Za-z]{0,8}b[A-Za-z]{0,8}(?:[ \t]{1,8}[^\s]{1,256}){2}[ \t]{1,8})\S+/g;
/** Words of a line that a secret follows; it must look chosen, where the words are ordinary ones. */
const worded =
  /((?:\b(?:vault|cargo)[ \t]+login|\bcomposer[ \t]+config[ \t]+\S{1,128}(?:[ \t]+[\w.-]{1,64})?|\bpoetry[ \t]+config[ \t]+pypi-token\.\S{1,64}|\bbundle[ \t]+config[ \t]+(?:set[ \t]+)?\S{1,128}[ \t]+[\w.-]{1,64}:|:_authToken|::add-mask::|(?<![^\n])[ \t]{0,8}(?:AUTH|requirepass|masterauth|bindpw|rootpw|SetEnv[ \t]+\w*(?:TOKEN|KEY|SECRET|PASSWORD)))[ \t]*["']?)([^\s"']{6,512})/g;
/** Fields of pgpass, and what JSON keeps of a registry. */
const fields =
  /((?<![^\n])[\w.*-]{1,128}:(?:\d{1,5}|\*):[\w*-]{1,64}:[\w*.-]{1,64}:|"auth"\s{0,8}:\s{0,8}"|\bauth[ \t]{0,4}=[ \t]{0,4}\(["'][^"'\n]{0,128}["'],[ \t]{0,4}["']|BasicAuth\(["'][^"'\n]{0,128}["'],[ \t]{0,4}["'])([^\s"']{6,512})/g;
/** Passwords as systems store them: which function, salt and digest. */
const digest = /\$(?:[156y]|2[abxy]|apr1|argon2id?)\$[A-Za-z0-9./$=,+]{16,512}/g;
/** Addresses that let in whoever knows them. */
const addresses = [
  /(\bhooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/_-]+/g,
  /(\bdiscord(?:app)?\.com\/api\/webhooks\/\d{1,32}\/)[A-Za-z0-9_-]+/g,
  /(\bapi\.telegram\.org\/bot\d{1,20}:)[A-Za-z0-9_-]+/g,
];
const signature = /([?&](?:sig|X-Amz-Signature|X-Goog-Signature)=)[^&\s"'#<>]+/gi;
/** A token in the place of a user: long, and with a digit. */
const userToken = /(:\/\/)(?=[A-Za-z_-]{0,255}\d)[A-Za-z0-9_-]{20,255}(?=@)/g;
const sqlSet =
  /(\bset[ \t]{1,8}password\b[^\n;=]{0,200}=[ \t]{0,8}(?:password[ \t]{0,8}\([ \t]{0,8})?)(?:'[^'\n]*'|"[^"\n]*")/gi;

/** Hides what the text tells such programs and services. */
export function hidePrograms(text: string): string {
  let hidden = text;
  if (hidden.includes('|')) hidden = hidden.replace(piped, `$1${redacted}`);
  if (hidden.includes('htpasswd')) hidden = hidden.replace(htpasswd, `$1${redacted}`);
  if (hidden.includes('/')) for (const one of addresses) hidden = hidden.replace(one, `$1${redacted}`);
  if (hidden.includes('://'))
    hidden = hidden.replace(signature, `$1${redacted}`).replace(userToken, `$1${redacted}`);
  const hide = (whole: string, head: string, value: string): string =>
    looksChosen(value) ? head + redacted : whole;
  hidden = hidden.replace(worded, hide);
  if (/:|auth/i.test(hidden)) hidden = hidden.replace(fields, hide);
  if (hidden.includes('$')) hidden = hidden.replace(digest, redacted);
  hidden = hidden.replace(sqlSet, `$1'${redacted}'`);
  if (!flagsOfPrograms.some(({ program }) => program.test(hidden))) return hidden;
  return hidden.replace(/[^;|&\n]+/g, (command) => {
    let told = command;
    for (const { program, flag } of flagsOfPrograms)
      if (program.test(told)) told = told.replace(flag, `$1${redacted}`);
    return told;
  });
}
