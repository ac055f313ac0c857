// Saves the fields of a channel that a person changed.
import { call, type Input } from '../../lib/api.ts';
import {
  type Channel,
  type ConfigText,
  configOf,
  type FilterText,
  filtersOf,
  filterTextOf,
  textOf,
} from './kinds.ts';

/** Query of all channels: the longest page of their list. */
export const channelsInput = { query: { limit: 1000 } };

export interface ChannelTexts {
  readonly name: string;
  readonly config: ConfigText;
  readonly filters: FilterText;
}

export const textsOf = ({ name, channel_type: type, config, filters }: Channel): ChannelTexts => ({
  name,
  config: textOf(type, config),
  filters: filterTextOf(filters),
});

/** The newest fields with those that a person changed; null if the person changed none. */
function withChanges<T extends object>(texts: T, before: T, newest: T): T | null {
  const changes = Object.entries(texts).filter(
    ([key, text]) => String(text) !== String(before[key as keyof T]),
  );
  return changes.length === 0 ? null : { ...newest, ...Object.fromEntries(changes) };
}

/**
 * Reads the channel again: the hub replaces settings and filters as a whole, and no frame reports the changes of other
 * users.
 * @param channel the state that the form displayed at first
 */
export async function saveChannel({
  channel,
  texts,
}: {
  readonly channel: Channel;
  readonly texts: ChannelTexts;
}): Promise<Channel> {
  const before = textsOf(channel);
  const channels = await call('listChannels', channelsInput);
  const newest = textsOf(channels.find(({ id }) => id === channel.id) ?? channel);
  const config = withChanges(texts.config, before.config, newest.config);
  const filters = withChanges(texts.filters, before.filters, newest.filters);
  return call('updateChannel', {
    params: { channel_id: channel.id },
    body: {
      ...(texts.name === before.name ? {} : { name: texts.name }),
      ...(config && { config: configOf(channel.channel_type, config, newest.config) }),
      ...(filters && { filters: filtersOf(filters) }),
    },
  } as Input<'updateChannel'>);
}
