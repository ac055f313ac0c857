// Commands by name, with their page, key and required role. A page offers a command with `useCommand`. The palette and
// the list of keys contain the offered commands, and link to the pages of the others.
import { useEffect, useEffectEvent } from 'react';
import type { IconName } from '../ui/icons.tsx';
import { useKeys } from '../ui/keys.ts';
import type { Operation } from './api.ts';
import { after, type Timer } from './browser.ts';
import type { HostedOperation } from './hosted.ts';
import { createStore, useStore } from './store.ts';

export interface Command {
  readonly label: string;
  readonly icon: IconName;
  /** The page that offers the command. Undefined: the command is listed only while a page offers it. */
  readonly path?: string;
  readonly search?: { readonly [name: string]: string };
  /** Key of the command while a page offers it. A capital letter needs Shift. */
  readonly key?: string;
  /** Operation that the command sends at the end: without the role for it, the command is off. */
  readonly operation?: Operation | HostedOperation;
}

export const commands = {
  createKey: { label: 'Create key', icon: 'keys', path: '/admin/keys', key: 'n', operation: 'createKey' },
  newContract: {
    label: 'New contract',
    icon: 'contracts',
    path: '/policies',
    key: 'n',
    operation: 'createContract',
  },
  importContracts: {
    label: 'Import contracts from a bundle',
    icon: 'upload',
    path: '/policies',
    key: 'i',
    operation: 'createContract',
  },
  newComposition: {
    label: 'New composition',
    icon: 'compositions',
    path: '/policies',
    search: { view: 'compositions' },
    key: 'n',
    operation: 'createComposition',
  },
  uploadBundle: {
    label: 'Upload bundle',
    icon: 'bundles',
    path: '/policies',
    search: { view: 'documents' },
    key: 'n',
    operation: 'uploadBundle',
  },
  newRuleset: {
    label: 'New ruleset',
    icon: 'rulesets',
    path: '/policies',
    search: { view: 'documents' },
    key: 'N',
    operation: 'hostedPutRuleset',
  },
  addChannel: {
    label: 'Add channel',
    icon: 'channels',
    path: '/admin/channels',
    key: 'n',
    operation: 'createChannel',
  },
  addUser: { label: 'Add user', icon: 'person', path: '/admin/people', key: 'n', operation: 'addUser' },
  changePassword: { label: 'Change your password', icon: 'keys', path: '/me/security', key: 'w' },
  rotateSigningKey: {
    label: 'Rotate signing key',
    icon: 'keys',
    path: '/evidence',
    key: 'R',
    operation: 'rotateSigningKey',
  },
  purgeEvents: {
    label: 'Purge old events',
    icon: 'trash',
    path: '/admin/retention',
    key: 'P',
    operation: 'purgeEvents',
  },
  liveTail: {
    label: 'Open live tail',
    icon: 'play',
    path: '/explore',
    search: { view: 'tail' },
    key: 'l',
  },
  searchEvents: { label: 'Search events', icon: 'search', path: '/explore', key: '/' },
  exportNdjson: { label: 'Export events as NDJSON', icon: 'download', path: '/explore', key: 's' },
  exportCsv: { label: 'Export events as CSV', icon: 'download', path: '/explore', key: 'S' },
  copyLink: { label: 'Copy link', icon: 'copy', key: 'y' },
  keys: { label: 'Show keyboard shortcuts', icon: 'keyboard', key: '?' },
  follow: { label: 'Pause or follow live', icon: 'pause', key: 'p' },
  approve: { label: 'Approve', icon: 'check', key: 'a' },
  deny: { label: 'Deny', icon: 'slash', key: 'd' },
  reviewGroup: { label: 'Review group', icon: 'approvals', key: 'A' },
  take: { label: 'Take', icon: 'person', key: 'm' },
  snooze: { label: 'Snooze', icon: 'clock', key: 's' },
  undo: { label: 'Undo', icon: 'refresh', key: 'z' },
  deploy: { label: 'Deploy', icon: 'upload', key: 'D' },
  rollBack: { label: 'Roll back', icon: 'refresh', key: 'B' },
  undeploy: { label: 'Undeploy', icon: 'trash', key: 'U' },
} as const satisfies { readonly [name: string]: Command };

export type CommandName = keyof typeof commands;

export const commandOf = (name: CommandName): Command => commands[name];

export interface Offer {
  /** Object of the command, if a page displays one of many. */
  readonly of: string | null;
  /** More precise name of the command. */
  readonly label: string | null;
  /** Reason why the command is disabled. */
  readonly why: string | null;
  readonly act: (detail: string) => void;
}

/** The commands that the current page offers. */
export const offers = createStore<ReadonlyMap<CommandName, Offer>>(new Map());

interface CommandRequest {
  readonly name: CommandName;
  readonly of: string | null;
  readonly detail: string;
}

const requestedCommand = createStore<CommandRequest | null>(null);
/** A command for a page that loads later than this is dropped. Milliseconds. */
const patienceMs = 10_000;
let forget: Timer | null = null;

/** Runs a command at once, or as soon as its page is loaded. */
export function askFor(name: CommandName, of: string | null = null, detail = ''): void {
  forget?.cancel();
  const one = { name, of, detail };
  requestedCommand.set(one);
  forget = after(patienceMs, () => requestedCommand.set((now) => (now === one ? null : now)));
}

/**
 * Offers a command while the component is mounted, and binds its key.
 * @param act null while its data loads
 */
export function useCommand(
  name: CommandName,
  act: ((detail: string) => void) | null,
  options: { readonly of?: string; readonly label?: string; readonly why?: string | null } = {},
): void {
  const { of = null, label = null, why = null } = options;
  const run = useEffectEvent((detail: string): void => act?.(detail));
  const isReady = act !== null;
  useEffect(() => {
    if (!isReady) return;
    const offer = { of, label, why, act: (detail: string) => run(detail) };
    offers.set((before) => new Map(before).set(name, offer));
    return () =>
      offers.set((before) => {
        if (before.get(name) !== offer) return before;
        const left = new Map(before);
        left.delete(name);
        return left;
      });
  }, [name, of, label, why, isReady]);
  const request = useStore(requestedCommand);
  useEffect(() => {
    if (!isReady || request?.name !== name || request.of !== of) return;
    requestedCommand.set(null);
    // The reason is about the command without a detail.
    if (why === null || request.detail !== '') run(request.detail);
  }, [request, isReady, name, of, why]);
  const { key } = commandOf(name);
  // A held key acts once.
  const press = ({ repeat }: KeyboardEvent): void => {
    if (!repeat) act?.('');
  };
  useKeys(key !== undefined && isReady && why === null ? { [key]: press } : {});
}

/** Display name of a key. */
export const keyWords = (key: string): string => (/^[A-Z]$/.test(key) ? `Shift ${key}` : key);
