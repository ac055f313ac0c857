// The tool pins of the MCP proxy: its options, the label of the server, and the last listing for `reeve-agent pins`.
import { basename, join } from 'node:path';
import { systemClock } from '../clock.ts';
import { writeWhole } from '../files.ts';
import { HubClient } from '../hub.ts';
import { maxServerLabel } from '../rules/tools/definition.ts';
import { type PinMode, pinModes } from '../rules/tools/pins.ts';
import { fileNameOf } from '../tools/document.ts';
import { readLocalPins } from '../tools/local.ts';
import { ToolPins } from '../tools/tool-pins.ts';
import { UsageError } from './command.ts';
import type { ConnectionPlan } from './connection.ts';

interface PinValues {
  readonly server?: string | undefined;
  readonly 'pin-mode'?: string | undefined;
  readonly pins?: string | undefined;
}

interface ServerWords {
  readonly upstream: string | undefined;
  readonly command: readonly string[];
}

const isPath = (word: string): boolean =>
  /^[./~]|[\\]|^[A-Za-z]:/.test(word) || (word.includes('/') && !word.startsWith('@'));

/** The label of a server: its address, or the words of its command without options, paths and versions. */
export function serverLabel({ upstream, command }: ServerWords): string {
  if (upstream !== undefined) {
    const { origin, pathname } = new URL(upstream);
    return `${origin}${pathname}`.slice(0, maxServerLabel);
  }
  const [program = 'server', ...args] = command;
  const words = args
    .filter((word) => word !== '' && !word.startsWith('-') && !isPath(word))
    .map((word) => word.replace(/(?<=.)@[^@/]*$/, ''));
  return [basename(program), ...words].join(':').slice(0, maxServerLabel);
}

/** File with the last listing of a server, which the proxy keeps for `reeve-agent pins`. */
export const listingFile = (state: string, server: string): string =>
  join(state, 'tools', fileNameOf(server));

/** @throws UsageError, PinsRejectedError */
export async function proxyPins(
  values: PinValues,
  words: ServerWords,
  plan: ConnectionPlan,
  { writeLog, changed }: { readonly writeLog: (text: string) => void; readonly changed: () => void },
): Promise<ToolPins> {
  const { 'pin-mode': mode = 'observe', pins: file } = values;
  if (!pinModes.some((one) => one === mode)) throw new UsageError('--pin-mode must be observe, hold or deny');
  if (file !== undefined && plan.hub)
    throw new UsageError('--pins is for a proxy without a hub: the hub has the pins');
  const server = values.server ?? serverLabel(words);
  if (server === '' || server.length > maxServerLabel) {
    throw new UsageError(`--server must have 1 to ${maxServerLabel} characters`);
  }
  const local =
    file === undefined
      ? {}
      : await readLocalPins(file).catch((failure: Error) => {
          throw new UsageError(failure.message);
        });
  const pins = new ToolPins({
    server,
    http: plan.hub ? new HubClient(plan.hub).http : null,
    hubUrl: plan.hub?.url.replace(/(?<!\/)\/+$/, '') ?? null,
    mode: mode as PinMode,
    localPins: Object.hasOwn(local, server) ? (local[server] ?? []) : [],
    pinFile: plan.hub ? join(plan.state, `${plan.scope}.tool-pins`, fileNameOf(server)) : null,
    clock: systemClock,
    writeLog,
    onChange: changed,
    ...(plan.hub
      ? {}
      : {
          onListing: (tools) => {
            const text = JSON.stringify({ server, tools });
            void writeWhole(listingFile(plan.state, server), text).catch((failure: Error) =>
              writeLog(`saving the list of tools: ${failure.message}`),
            );
          },
        }),
  });
  await pins.start();
  return pins;
}
