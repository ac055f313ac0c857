// The members of a tenant file on disk, one after the other.
import { type FileHandle, open } from 'node:fs/promises';
import { memberHeadBytes, memberLength } from '../../../adapters/node/tenant-file.ts';
import { HubError } from '../../shared/error.ts';

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  return bytes.subarray(0, bytesRead);
}

/** @throws HubError unprocessable for a file that was cut off, or that no hub wrote */
export async function* membersOf(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size === 0) throw new HubError('unprocessable', `${path} is empty. Export the tenant again.`);
    for (let at = 0; at < size; ) {
      const length = memberLength(await read(file, at, memberHeadBytes));
      if (length === null || at + length > size) {
        throw new HubError(
          'unprocessable',
          `${path} is not a tenant file, or it was changed or cut off at byte ${at}. Export the tenant again.`,
        );
      }
      yield await read(file, at, length);
      at += length;
    }
  } finally {
    await file.close();
  }
}
