// The file of a back-up: a database, then a line that describes the database, then a line of fixed length with the
// digest of all before it. Because the database comes first, SQLite's own tools open a back-up as well.
import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { z } from 'zod';
import { HubError } from '../../src/shared/error.ts';

const manifestShape = z.object({
  /** The version of Reeve that made the back-up. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  hubId: z.string(),
  schema: z.number().int(),
  databaseBytes: z.number().int().positive(),
  /** Null when the hub does not keep its master secret in its folder. */
  masterSecret: z.string().nullable(),
});

export type Manifest = z.infer<typeof manifestShape>;

export interface Archive {
  readonly manifest: Manifest;
  /** Of the whole file but its last line, in hexadecimal digits. */
  readonly sha256: string;
  /** Of the whole file. */
  readonly bytes: number;
}

/** Bytes read so far, of all that are to be read. */
export type OnProgress = (done: number, total: number) => void;

const lastLine = /^reeve-backup 1 (\d{10}) ([0-9a-f]{64})\n$/;
const lastLineBytes = 'reeve-backup 1 '.length + 10 + 1 + 64 + 1;
const maxManifestBytes = 65_536;
const chunkBytes = 1 << 20;

async function readAt(file: FileHandle, from: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let read = 0;
  while (read < bytes) {
    const { bytesRead } = await file.read(buffer, read, bytes - read, from + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
}

/** Reads a part in chunks, one at a time. */
async function each(file: FileHandle, end: number, task: (chunk: Buffer) => unknown): Promise<void> {
  for (let at = 0; at < end; at += chunkBytes) {
    await task(await readAt(file, at, Math.min(chunkBytes, end - at)));
  }
}

/** Makes an archive of a file that holds a database: appends what is missing, and returns when it is on disk. */
export async function sealArchive(
  path: string,
  manifest: Omit<Manifest, 'databaseBytes'>,
  onProgress: OnProgress,
): Promise<Archive> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const full: Manifest = { ...manifest, databaseBytes: size };
    const line = Buffer.from(`${JSON.stringify(full)}\n`);
    const hash = createHash('sha256');
    let done = 0;
    await each(file, size, (chunk) => {
      hash.update(chunk);
      done += chunk.length;
      onProgress(done, size);
    });
    const sha256 = hash.update(line).digest('hex');
    const ending = Buffer.from(`reeve-backup 1 ${String(line.length).padStart(10, '0')} ${sha256}\n`);
    const tail = Buffer.concat([line, ending]);
    await file.write(tail, 0, tail.length, size);
    await file.sync();
    return { manifest: full, sha256, bytes: size + tail.length };
  } finally {
    await file.close();
  }
}

const noArchive = (path: string, why: string): HubError =>
  new HubError('conflict', `${path} is not a complete Reeve back-up: ${why}. Use another file.`);

/**
 * Reads the description in a back-up file, without a check of its digest.
 * @throws HubError('conflict') when it is no back-up, or is cut off, 'not_found' when there is no such file
 */
export async function readArchive(path: string): Promise<Archive> {
  // A pipe would keep this waiting for ever.
  const stats = await stat(path).catch(() => null);
  if (stats === null)
    throw new HubError(
      'not_found',
      `${path === '' ? 'The empty name' : path} does not exist. Name a back-up file.`,
    );
  if (!stats.isFile()) throw new HubError('conflict', `${path} is not a regular file. Name a back-up file.`);
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const ending = (await readAt(file, Math.max(0, size - lastLineBytes), lastLineBytes)).toString('latin1');
    const stats = lastLine.exec(ending);
    if (!stats) {
      const newer = /\nreeve-backup (\d+) .*\n$/.exec(`\n${ending}`)?.[1];
      throw noArchive(
        path,
        newer !== undefined && newer !== '1'
          ? `this version does not support its format ${newer}`
          : 'its last line is missing',
      );
    }
    const [length, sha256] = [Number(stats[1]), String(stats[2])];
    const from = size - lastLineBytes - length;
    if (length > maxManifestBytes || from < 0) throw noArchive(path, 'it is cut off');
    const manifest = parsed((await readAt(file, from, length)).toString());
    if (!manifest) throw noArchive(path, 'its description cannot be read');
    if (manifest.databaseBytes !== from) throw noArchive(path, 'it is cut off');
    return { manifest, sha256, bytes: size };
  } finally {
    await file.close();
  }
}

function parsed(text: string): Manifest | null {
  try {
    return manifestShape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/**
 * Reads the whole archive, compares its digest, and writes its database into a new file, on disk when this returns.
 * @param to null to compare alone
 * @throws HubError('conflict') when a byte is not what it was
 */
export async function openArchive(
  path: string,
  { manifest, sha256, bytes }: Archive,
  to: string | null,
  onProgress: OnProgress,
): Promise<void> {
  const source = await open(path, 'r');
  const target = to === null ? null : await open(to, 'wx', 0o600);
  try {
    const hash: Hash = createHash('sha256');
    const total = bytes - lastLineBytes;
    let done = 0;
    await each(source, total, async (chunk) => {
      hash.update(chunk);
      const ofDatabase = chunk.subarray(0, Math.max(0, manifest.databaseBytes - done));
      await target?.writeFile(ofDatabase);
      done += chunk.length;
      onProgress(done, total);
    });
    if (hash.digest('hex') !== sha256)
      throw noArchive(path, 'its digest does not match, so the file is damaged');
    await target?.sync();
  } finally {
    await source.close();
    await target?.close();
  }
}
