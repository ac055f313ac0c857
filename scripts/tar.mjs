// Tarballs in the format ustar (POSIX.1-1988), compressed. Equal files give equal bytes: names are sorted, and times
// and owners are fixed.
import { gzipSync } from 'node:zlib';

/** 1985-10-26T08:15:00Z, as npm writes it: older times are odd to some tools. */
const time = 499_162_500;

/** One field of a header: text, or a number in octal digits. */
const text = (value, length) => Buffer.from(value.padEnd(length, '\0'), 'latin1');
const octal = (value, length) => text(value.toString(8).padStart(length - 1, '0'), length);

function entry({ path, bytes, mode }) {
  const cut = path.length > 100 ? path.indexOf('/', path.length - 101) : -1;
  const [prefix, rest] = cut < 0 ? ['', path] : [path.slice(0, cut), path.slice(cut + 1)];
  if (rest.length > 100 || prefix.length > 155)
    throw new Error(`The path ${path} is too long for a tarball.`);
  const fields = (sum) =>
    Buffer.concat([
      text(rest, 100),
      octal(mode, 8),
      octal(0, 8),
      octal(0, 8),
      octal(bytes.length, 12),
      octal(time, 12),
      sum,
      text('0', 1),
      text('', 100),
      text('ustar', 6),
      text('00', 2),
      text('', 32),
      text('', 32),
      text('', 8),
      text('', 8),
      text(prefix, 155),
      text('', 12),
    ]);
  const sum = fields(Buffer.alloc(8, ' ')).reduce((total, byte) => total + byte, 0);
  const header = fields(Buffer.from(`${sum.toString(8).padStart(6, '0')}\0 `, 'latin1'));
  return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
}

export function tarball(files) {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const packed = gzipSync(Buffer.concat([...sorted.flatMap(entry), Buffer.alloc(1024)]), { level: 9 });
  // The byte that names the system which packed it: unknown.
  packed[9] = 255;
  return packed;
}
