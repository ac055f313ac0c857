// Members of a tenant file: gzip (RFC 1952) with a field of their own in the header. The field `RV` contains the length
// of the member and a proof of its content. So a file is one gzip stream that any tool reads, and can be sent in parts
// without being read. Every byte is either fixed, the length, the proof, or proved.
import { hash, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { crc32, deflateRaw, inflateRaw } from 'node:zlib';
import { HubError } from '../../src/shared/error.ts';
import type { TenantFileFormat } from '../../src/tenant/port/file-format.ts';
import { maxMemberBytes } from '../../src/tenant/rules/file-kinds.ts';
import { createSecrets } from './secrets.ts';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
const scryptKey = promisify<string, string, number, object, Buffer>(scrypt);

/** Magic, deflate, FEXTRA, no time, no flags, unknown system; 40 bytes of extra, of which `RV` has 36. */
const prefix = Buffer.concat([
  Buffer.from('1f8b08040000000000ff2800', 'hex'),
  Buffer.from('RV'),
  Buffer.from([36, 0]),
]);
const proofBytes = 32;
/** Bytes in front of the compressed text. */
export const memberHeadBytes = prefix.length + 4 + proofBytes;
/** Bytes of text in a member, at most. */
const maxTextBytes = 48 << 20;

const damaged = (): HubError =>
  new HubError(
    'unprocessable',
    'This is not a part of a tenant file, or it was changed. Export the tenant again.',
  );

/** The length of the member that begins with these bytes; null for what is none. */
export function memberLength(start: Uint8Array): number | null {
  if (start.byteLength < memberHeadBytes) return null;
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  if (!bytes.subarray(0, prefix.length).equals(prefix)) return null;
  const length = bytes.readUInt32LE(prefix.length);
  return length > memberHeadBytes && length <= maxMemberBytes ? length : null;
}

export const tenantFileFormat: TenantFileFormat = {
  async derive(passphrase, salt) {
    const options = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 << 20 };
    return (await scryptKey(passphrase, salt, 32, options)).toString('base64');
  },
  keyOf: (derived) => createSecrets(Buffer.from(derived, 'base64')),
  async pack(text, prove) {
    const plain = Buffer.from(text);
    const body = await deflate(plain);
    const end = Buffer.alloc(8);
    end.writeUInt32LE(crc32(plain), 0);
    end.writeUInt32LE(plain.length, 4);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(memberHeadBytes + body.length + end.length);
    if (length.readUInt32LE() > maxMemberBytes || plain.length > maxTextBytes)
      throw new HubError('unprocessable', 'A record of this tenant is larger than a part of a file can be.');
    const rest = Buffer.concat([body, end]);
    const proof = Buffer.from(prove(hash('sha256', rest, 'hex')), 'hex');
    return Buffer.concat([prefix, length, proof, rest]);
  },
  async unpack(packed) {
    if (memberLength(packed) !== packed.byteLength) throw damaged();
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    const rest = bytes.subarray(memberHeadBytes);
    try {
      const plain = await inflate(rest.subarray(0, -8), { maxOutputLength: maxTextBytes });
      const isWhole =
        plain.length === rest.readUInt32LE(rest.length - 4) &&
        crc32(plain) === rest.readUInt32LE(rest.length - 8);
      if (!isWhole) throw damaged();
      return {
        text: plain.toString(),
        digest: hash('sha256', rest, 'hex'),
        proof: bytes.subarray(memberHeadBytes - proofBytes, memberHeadBytes).toString('hex'),
      };
    } catch {
      throw damaged();
    }
  },
};
