// Arguments of tools that name files or addresses inside of a text: they are judged by their names in arguments added.
import type { Fields } from '../../fields.ts';

const textsIn = (args: Fields): string[] => Object.values(args).filter((value) => typeof value === 'string');

/** A line of a patch that names a file; lines of content begin with a blank, + or -. */
const namingLine = /^\s*\*\*\*\s*(?:add|update|delete|move)\s*(?:(?:file|to)\s*)?:(.*)$/i;
/** Lines of a patch that name none. */
const plainLine = /^\*\*\*\s*(?:begin patch|end patch|end of file|environment id\s*:.*)\s*$/i;

/**
 * The arguments of a patch with `paths`: every file that it adds, changes, deletes or moves to.
 * @throws Error for a patch that names none, or has a line that is not known
 */
export function patchArguments(args: Fields): Fields {
  const paths: string[] = [];
  for (const text of textsIn(args)) {
    for (const line of text.split(/\r\n|[\n\r\u2028\u2029]/)) {
      const path = namingLine.exec(line)?.[1]?.trim();
      if (path !== undefined) paths.push(path);
      else if (line.startsWith('***') && !plainLine.test(line)) {
        throw new Error(`the patch has an unknown line: ${line.slice(0, 100)}`);
      }
    }
  }
  if (paths.length === 0 || paths.includes('')) throw new Error('the patch names no file');
  return { ...args, paths };
}

/** An address. A run of letters and marks is read once, from its first letter behind a boundary. */
const address = /(?<![a-z0-9+.-])(?:[0-9+.-]|\B[a-z])*\b([a-z][a-z0-9+.-]*:\/\/[^\s"'<>`]+)/gi;

/** The arguments with `urls`: every address in their texts. */
export function urlArguments(args: Fields): Fields {
  const urls = textsIn(args).flatMap((text) => [...text.matchAll(address)].map(([, url]) => url));
  return urls.length === 0 ? args : { ...args, urls };
}
