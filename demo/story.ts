// The demo from start to end: a hub, its contracts, a fleet at work, a person's decision, and the events back from the
// hub.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chdir, cwd } from 'node:process';
import { bundleName, contracts } from './contracts.ts';
import { type Ended, Fleet, type Planned, plans } from './fleet.ts';
import { DemoHub, type StoredEvent, type Waiting } from './hub.ts';
import type { Voice } from './voice.ts';
import { Workshop } from './workshop.ts';

export interface StoryOptions {
  readonly voice: Voice;
  /** The demo approves by itself instead of waiting for a person. */
  readonly approve: boolean;
  /** Ends the story early; everything is still cleaned up. */
  readonly signal: AbortSignal;
}

/**
 * Plays the whole demo and leaves nothing behind. Resolves to what went otherwise than the contracts say; nothing when
 * all is well.
 */
export async function tell(options: StoryOptions): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-demo-'));
  const before = cwd();
  const undo: (() => Promise<void>)[] = [
    async () => {
      chdir(before);
      await rm(folder, { recursive: true, force: true });
    },
  ];
  try {
    return await play(options, folder, undo);
  } finally {
    for (const step of undo.reverse()) await step().catch(() => {});
  }
}

async function play(
  { voice, approve, signal }: StoryOptions,
  folder: string,
  undo: (() => Promise<void>)[],
): Promise<readonly string[]> {
  const workshop = await Workshop.open(folder);
  undo.push(() => workshop.close());
  // Paths in the agents' calls are relative; contracts judge them from the working directory.
  chdir(workshop.folder);

  const hub: DemoHub = await DemoHub.start(join(folder, 'hub'), (approval) => {
    void askPerson(hub, approval, voice, approve);
  });
  undo.push(() => hub.stop());
  voice.tell(
    'hub',
    { url: hub.url },
    `A hub runs at ${hub.url}, with an admin and a key, in a temporary folder.`,
  );

  const { version } = await hub.deploy(contracts(workshop.folder));
  voice.tell(
    'deployed',
    { bundle: bundleName, version },
    `Six contracts are deployed to production, signed, as ${bundleName} version ${version}.`,
  );
  const fleet = await Fleet.connect(hub.url, await hub.key(), workshop.tools);
  undo.push(() => fleet.close());
  voice.tell(
    'fleet',
    { agents: fleet.agents },
    `Four agents are connected: ${fleet.agents.join(', ')}. They check each call themselves, before it runs.`,
  );

  const problems = await playPlans(fleet, voice, signal);
  for (const { agent_id, status } of await hub.agents()) {
    if (status !== 'current') problems.push(`${agent_id} is ${status}, not current`);
  }
  await fleet.close();

  const events = await hub.events();
  tellEvents(voice, events);
  const calls = new Set(events.map((event) => event.call_id)).size;
  if (calls !== plans.length) problems.push(`the hub has ${calls} calls, not ${plans.length}`);
  return problems;
}

/** Plays all calls in turn. @returns what went otherwise than planned */
async function playPlans(fleet: Fleet, voice: Voice, signal: AbortSignal): Promise<string[]> {
  const problems: string[] = [];
  let agent = '';
  for (const planned of plans) {
    signal.throwIfAborted();
    if (planned.agent !== agent) voice.tell('agent', { agent: planned.agent }, `\n${planned.agent}:`);
    agent = planned.agent;
    const ended = await fleet.call(planned, signal);
    // An approval that is no longer waited for is a denial; here it is the end.
    signal.throwIfAborted();
    tellCall(voice, planned, ended);
    if (!planned.expected.includes(ended.outcome)) {
      problems.push(
        `${planned.agent} ${planned.tool} ${ended.outcome}, not ${planned.expected.join(' or ')}`,
      );
    }
  }
  return problems;
}

/** A person learns about an approval from the dashboard's stream. */
async function askPerson(
  hub: DemoHub,
  { id, agent, tool, message }: Waiting,
  voice: Voice,
  approve: boolean,
) {
  const line = hub.approveLine(id);
  const ask = approve
    ? '            the demo approves it by itself'
    : `            Decide it in the web console, which this address opens once, within 5 minutes (Ctrl-C ends the demo):

    ${hub.loginLink()}

            or approve it from another terminal:\n\n    ${line}\n`;
  voice.tell(
    'held',
    { agent, tool, approval_id: id, message, approve: line },
    `  HELD      ${tool} until a person decides: ${message}\n${ask}`,
  );
  if (approve) await hub.approve(id);
}

const labels: { readonly [outcome in Ended['outcome']]: string } = {
  allowed: 'ALLOWED ',
  denied: 'DENIED  ',
  redacted: 'REDACTED',
  observed: 'OBSERVED',
  approved: 'APPROVED',
};

function tellCall(voice: Voice, { agent, tool, args }: Planned, { outcome, contract, text }: Ended): void {
  const what = `${tool} ${args.path ?? args.command ?? args.name ?? args.page}`;
  const words: { readonly [outcome in Ended['outcome']]: string } = {
    allowed: `${what} → ${text}`,
    denied: `${what} did not run. ${contract}: ${text}`,
    redacted: `${what} → ${text} (${contract})`,
    observed: `${what} → ${text} (ran, because ${contract} only observes; it would have been denied)`,
    approved: `${what} → ${text} (${contract} had asked)`,
  };
  voice.tell(
    'call',
    { agent, tool, args, outcome, contract, text },
    `  ${labels[outcome]}  ${words[outcome]}`,
  );
}

function tellEvents(voice: Voice, events: readonly StoredEvent[]): void {
  voice.tell(
    'events',
    { count: events.length },
    `\nWhat the hub now knows, ${events.length} calls, arguments redacted:`,
  );
  for (const { agent_id, tool_name, verdict, outcomes, payload } of events) {
    const verdicts = [verdict, ...outcomes.map((outcome) => outcome.verdict)];
    const contract = payload.decision_name ?? null;
    const secret = payload.tool_args?.api_key === undefined ? '' : `, api_key ${payload.tool_args.api_key}`;
    voice.tell(
      'event',
      { agent: agent_id, tool: tool_name, verdicts, contract, args: payload.tool_args },
      `  ${agent_id.padEnd(10)} ${tool_name.padEnd(14)} ${verdicts.join(', ')}${contract ? ` (${contract})` : ''}${secret}`,
    );
  }
}
