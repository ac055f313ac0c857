// Secrets that well-known programs and services take in ways of their own: flags of one letter, words of a command,
// parts of an address. Linear in the text's length.
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
    flag: new RegExp(String.raw`(${before}(?:-b|--body)[ \t=]+)${quotedOrRun}`, 'g'),
  },
];

/** A secret that is told to a program through a pipe. */
const piped = new RegExp(
  String.raw`(\b(?:echo|printf)[ \t]{1,8}(?:-\w{1,4}[ \t]{1,8})?)${quotedOrRun}(?=[ \t]{0,8}\|[ \t]{0,8}(?:sudo[ \t]{1,8}-S|[^|\n]{1,200}--(?:password-stdin|with-token)\b))`,
  'g',
);
const htpasswd =
  /(\bhtpasswd[ \t]{1,8}-[A-Za-z]{0,8}b[A-Za-z]{0,8}(?:[ \t]{1,8}[^\s]{1,256}){2}[ \t]{1,8})\S+/g;
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
  hidden = hidden.replace(sqlSet, `$1'${redacted}'`);
  if (!flagsOfPrograms.some(({ program }) => program.test(hidden))) return hidden;
  return hidden.replace(/[^;|&\n]+/g, (command) => {
    let told = command;
    for (const { program, flag } of flagsOfPrograms)
      if (program.test(told)) told = told.replace(flag, `$1${redacted}`);
    return told;
  });
}
