// Secrets in XML and HTML: the text of an element, or the attribute beside one, whose name says so. Linear in the
// text's length.
import type { NameTest } from './key.ts';
import { redacted } from './secret.ts';

const element =
  /(<([A-Za-z_][\w.:-]{0,127})(?:\s[^<>\n]{0,256})?>(?:<!\[CDATA\[)?)([^<\n]{1,4096}?)(?=<\/|\]\]>)/g;
const attribute =
  /(\b(?:key|name|type)[ \t]{0,8}=[ \t]{0,8}["']([A-Za-z_][\w.:-]{0,127})["'](?:\s[^<>\n]{0,128})?\svalue[ \t]{0,8}=[ \t]{0,8}["'])([^"'\n]{1,4096})/g;
const namedElement =
  /(<[A-Za-z_][\w.:-]{0,127}\s[^<>\n]{0,128}?\bname[ \t]{0,8}=[ \t]{0,8}["']([A-Za-z_][\w.:-]{0,127})["'][^<>\n]{0,128}>)([^<\n]{1,4096})(?=<\/)/g;

/** Hides what elements and attributes hold whose names stand for a secret. */
export function hideMarkup(text: string, names: NameTest): string {
  const hide = (whole: string, head: string, name: string, value: string): string =>
    names.isSensitiveName(name.slice(name.lastIndexOf(':') + 1), { value }) ? head + redacted : whole;
  return text.replace(element, hide).replace(attribute, hide).replace(namedElement, hide);
}
