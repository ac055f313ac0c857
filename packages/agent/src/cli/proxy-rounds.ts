// The rounds of the MCP proxy's calls: their key and their used nonces in the folder of state.
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import { FileStates } from '../rounds/large-states.ts';
import { RoundSeal } from '../rounds/round-state.ts';
import { Rounds } from '../rounds/rounds.ts';
import { FileNonces } from '../rounds/used-nonces.ts';
import { UsageError } from './command.ts';
import { ProxyRounds } from './mcp/rounds.ts';

const keyBytes = 32;

/**
 * @param server the label of the server, which a sealed state names
 * @param inputTimeout milliseconds in which a question of the server is to be answered
 * @throws UsageError
 */
export async function proxyRounds(
  state: string,
  server: string,
  inputTimeout?: number,
): Promise<ProxyRounds> {
  const seal = new RoundSeal(await roundKey(state));
  const nonces = new FileNonces(join(state, 'rounds'), systemClock);
  const states = new FileStates(join(state, 'round-states'), systemClock);
  const ports = { seal, nonces, states, clock: systemClock, server };
  const rounds = new Rounds({ ...ports, ...(inputTimeout === undefined ? {} : { inputTimeout }) });
  return new ProxyRounds(rounds, systemClock);
}

/** Made once, for the owner of the folder alone. */
async function roundKey(state: string): Promise<Uint8Array> {
  const file = join(state, 'round.key');
  try {
    await mkdir(state, { recursive: true, mode: 0o700 });
    const existing = await readFile(file).catch(() => null);
    if (existing) return checkedKey(existing, file);
    const own = `${file}.${randomBytes(8).toString('hex')}`;
    await writeFile(own, randomBytes(keyBytes), { mode: 0o600 });
    // Of several processes one gives the key.
    await link(own, file).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== 'EEXIST') throw failure;
    });
    await rm(own);
    return checkedKey(await readFile(file), file);
  } catch (failure) {
    if (failure instanceof UsageError) throw failure;
    throw new UsageError(`cannot use the state folder: ${(failure as Error).message}`);
  }
}

function checkedKey(key: Uint8Array, file: string): Uint8Array {
  if (key.length === keyBytes) return key;
  throw new UsageError(
    `${file} must have ${keyBytes} bytes. Delete it: calls that wait for an answer then end.`,
  );
}
