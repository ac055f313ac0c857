// `reeve tenant export` and `reeve tenant import`: a tenant as a file, from one running hub to another.

import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../adapters/node/clock.ts';
import { publishFirst, syncFolder } from '../../../adapters/node/data-folder.ts';
import { tenantFileFormat } from '../../../adapters/node/tenant-file.ts';
import { HubError } from '../../shared/error.ts';
import { camelKeys } from '../../shared/snake-keys.ts';
import { connect } from '../as-code/connection.ts';
import { readClientVariables } from '../config.ts';
import { membersOf } from '../tenant-file/members.ts';
import { type OperatorConnection, operatorCall } from '../tenant-file/operator-call.ts';
import { draftSuffix, withDraft } from './cleanup.ts';
import { answer, type CommandResult, UsageError } from './output.ts';
import { createProgress, inWords } from './progress.ts';

const help = `reeve tenant export ID FILE --passphrase-file PATH [--force] [--json]
reeve tenant import FILE --passphrase-file PATH [--json]

Writes a tenant of a running hub to FILE, or makes it on another running hub from FILE. FILE is gzip of NDJSON; the passphrase seals its
secrets, and proves that no byte was changed. An import is all or nothing: until it ends nobody sees the tenant, and what does not end
within 24 hours goes. Run an interrupted import again.

  ID                      id of the tenant
  FILE                    file to write, or to read
  --passphrase-file PATH  file whose first line is the passphrase, 12 characters or more
  --force                 replace an existing FILE
  --allow-insecure        allow plain http to another machine
  --json                  print the result or the error as JSON
  --help                  print this text

Settings: REEVE_URL (the hub), REEVE_TOKEN (its OPERATOR_TOKEN). docs/tenant-files.md lists what a file contains.
Exit code: 0 done, 1 refused, 2 wrong usage.
`;

interface Options {
  readonly connection: OperatorConnection;
  readonly passphrase: string;
  readonly isForced: boolean;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'passphrase-file': { type: 'string' },
        force: { type: 'boolean' },
        'allow-insecure': { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See reeve tenant --help.`);
  }
}

/** @throws UsageError for a short one, and without a file */
function passphraseIn(path: string | undefined): string {
  if (path === undefined || path === '') throw new UsageError('--passphrase-file needs a file.');
  const [line = ''] = readFileSync(path, 'utf8').split(/\r?\n/);
  if (line.length >= 12 && line.length <= 1024) return line;
  throw new UsageError(`The first line of ${path} must have 12 to 1,024 characters.`);
}

/** Downloads into a draft beside the file. @returns the bytes */
async function download(draft: string, id: string, { connection, passphrase }: Options): Promise<number> {
  const progress = createProgress(systemClock);
  const file = await open(draft, 'wx', 0o600);
  let bytes = 0;
  try {
    const response = await operatorCall(connection, {
      method: 'GET',
      path: `/api/v1/operator/tenants/${encodeURIComponent(id)}/export`,
      headers: { 'X-File-Passphrase': Buffer.from(passphrase).toString('base64') },
    });
    for await (const piece of response.body ?? []) {
      await file.write(piece);
      bytes += piece.byteLength;
      progress.report('Exporting', bytes, 0);
    }
    await file.sync();
  } catch (error) {
    if (error instanceof HubError || (error instanceof Error && 'syscall' in error)) throw error;
    throw new HubError('unavailable', 'The hub ended the export before its end. Run the command again.');
  } finally {
    progress.end();
    await file.close();
  }
  return bytes;
}

async function exportTenant(id: string, name: string, options: Options): Promise<CommandResult> {
  const target = resolve(name);
  const folder = dirname(target);
  if (!(statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false))
    throw new HubError('not_found', `The folder ${folder} does not exist. Create it, or name another.`);
  const taken = new HubError('conflict', `${target} already exists. Name another file, or use --force.`);
  if (!options.isForced && existsSync(target)) throw taken;
  const draft = `${target}${draftSuffix()}`;
  return withDraft(draft, async () => {
    const bytes = await download(draft, id, options);
    let last: Buffer | null = null;
    for await (const member of membersOf(draft)) last = member;
    const { text } = await tenantFileFormat.unpack(last ?? new Uint8Array());
    const { end } = JSON.parse(text) as { readonly end?: { readonly kinds: Kinds } };
    if (!end) throw new HubError('unavailable', 'The export was cut off. Run the command again.');
    if (options.isForced) renameSync(draft, target);
    else if (!publishFirst(draft, target)) throw taken;
    syncFolder(folder);
    const records = Object.values(end.kinds).reduce((sum, kind) => sum + kind.records, 0);
    return {
      result: { tenantId: id, file: target, bytes, records },
      words: [
        `Exported ${records} records of tenant ${id} to ${target} (${inWords(bytes)}).`,
        'Protect the file like the hub: it contains events and arguments of tools in plain text.',
      ],
    };
  });
}

type Kinds = { readonly [kind: string]: { readonly records: number } };

async function importTenant(path: string, { connection, passphrase }: Options): Promise<CommandResult> {
  const total = statSync(path).size;
  const progress = createProgress(systemClock);
  let id = '';
  let number = 0;
  let sent = 0;
  try {
    for await (const member of membersOf(path)) {
      if (number === 0) {
        const response = await operatorCall(connection, {
          method: 'POST',
          path: '/api/v1/operator/tenants/import',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ passphrase, head: member.toString('base64') }),
        });
        id = ((await response.json()) as { readonly id: string }).id;
      } else {
        await operatorCall(connection, {
          method: 'PUT',
          path: `/api/v1/operator/tenants/import/${id}/${number}`,
          headers: { 'Content-Type': 'application/gzip' },
          body: member,
        });
      }
      number++;
      sent += member.length;
      progress.report('Importing', sent, total);
    }
  } finally {
    progress.end();
  }
  const response = await operatorCall(connection, {
    method: 'POST',
    path: `/api/v1/operator/tenants/import/${id}/commit`,
  });
  const answer = camelKeys((await response.json()) as { readonly [name: string]: unknown });
  const { tenantId, name, records } = answer as {
    readonly tenantId: string;
    readonly name: string;
    readonly records: { readonly [kind: string]: number } | null;
  };
  const count = Object.values(records ?? {}).reduce((sum, one) => sum + one, 0);
  return {
    result: { tenantId, name, imported: records !== null, records: count },
    words: [
      records === null
        ? `The tenant ${name} (${tenantId}) was imported before.`
        : `Imported ${count} records of the tenant ${name} (${tenantId}).`,
    ],
  };
}

export async function tenant(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args);
  await answer({ help: values.help ? help : null, json: values.json === true }, async () => {
    const [word, ...names] = positionals;
    const [first = '', second = ''] = names;
    const isExport = word === 'export' && names.length === 2;
    if (!isExport && !(word === 'import' && names.length === 1))
      throw new UsageError(
        'The command is tenant export ID FILE, or tenant import FILE. See reeve tenant --help.',
      );
    const variables = readClientVariables();
    const { url } = connect(variables, values['allow-insecure'] === true);
    const options = {
      connection: { url, token: variables.token.trim() },
      passphrase: passphraseIn(values['passphrase-file']),
      isForced: values.force === true,
    };
    return isExport ? exportTenant(first, second, options) : importTenant(first, options);
  });
}
