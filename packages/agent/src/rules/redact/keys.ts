// Private keys as files: PEM, PuTTY, SSH2, and the private members of a JSON web key. Linear in the text's length.
import { redacted } from './secret.ts';

const begin = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY|---- BEGIN SSH2 [A-Z ]{0,20}PRIVATE KEY/g;
/** From the count of lines to the last of them, with what proves the whole; a count that is too large takes all. */
const putty = /\b(Private-Lines:[ \t]{0,8}(\d{1,4}))\r?\n/g;
const puttyMac = /\b(Private-(?:MAC|Hash):[ \t]{0,8})[0-9a-f]+/gi;
const member = /("(?:d|p|q|dp|dq|qi|k)"\s{0,8}:\s{0,8}")[A-Za-z0-9_=-]+(?=")/g;

/** Hides private keys; what has no end reaches to the end of the text. */
export function hideKeys(text: string): string {
  let hidden = text.includes('---- BEGIN ') || text.includes('-----BEGIN') ? hideBetweenLines(text) : text;
  if (hidden.includes('Private-Lines:')) hidden = hideLines(hidden).replace(puttyMac, `$1${redacted}`);
  return hidden.includes('"kty"') ? hidden.replace(member, `$1${redacted}`) : hidden;
}

function hideBetweenLines(text: string): string {
  let out = '';
  let from = 0;
  begin.lastIndex = 0;
  for (let match = begin.exec(text); match; match = begin.exec(text)) {
    out += text.slice(from, match.index) + redacted;
    const dashes = match[0].startsWith('-----') ? '-----' : '----';
    const last = text.indexOf(dashes === '----' ? '---- END' : '-----END', begin.lastIndex);
    if (last < 0) return out;
    const close = text.indexOf(dashes, last + 8);
    from = close < 0 ? text.length : close + dashes.length;
    begin.lastIndex = from;
  }
  return out + text.slice(from);
}

function hideLines(text: string): string {
  let out = '';
  let from = 0;
  putty.lastIndex = 0;
  for (let match = putty.exec(text); match; match = putty.exec(text)) {
    const start = match.index + match[0].length;
    let end = start;
    for (
      let lines = text.startsWith(redacted, start) ? 1 : Number(match[2]);
      lines > 0 && end < text.length;
      lines--
    ) {
      const next = text.indexOf('\n', end);
      end = next < 0 ? text.length : next + 1;
    }
    if (end === start) continue;
    out += `${text.slice(from, start)}${redacted}${text[end - 1] === '\n' ? '\n' : ''}`;
    from = end;
    putty.lastIndex = end;
  }
  return out + text.slice(from);
}
