// Requests for streams that wait before anything is done for them: in turn, by credential, and not for ever.
import { expect, it } from 'vitest';
import { WaitingRoom } from '../../src/http/waiting-room.ts';
import { ManualClock } from '../clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const by = (credential: string) => ({ headers: new Map([['authorization', credential]]) });

/** A room, and the requests it serves now. */
function aRoom() {
  const clock = new ManualClock();
  const room = new WaitingRoom(clock);
  const served: { readonly name: string; readonly late: boolean; done(): void }[] = [];
  const enter = (credential: string, name: string, client = { open: true }): void =>
    room.enter(by(credential), client, (late) => new Promise((done) => served.push({ name, late, done })));
  const names = (): readonly string[] => served.map(({ name }) => name);
  return { clock, room, served, enter, names };
}

it('serves 512 of a credential at once and the others in turn, those of another beside them', async () => {
  const { served, enter, names } = aRoom();
  for (let i = 0; i < 514; i++) enter('a', `${i}`);
  expect(served.length).toBe(512);
  enter('b', 'other');
  expect(names().at(-1)).toBe('other');
  served[7]?.done();
  await turn();
  expect(names().at(-1)).toBe('512');
  served[8]?.done();
  await turn();
  expect(names().at(-1)).toBe('513');
  expect(served.every(({ late }) => !late)).toBe(true);
});

it('passes over whose client has left, and keeps no place for it', async () => {
  const { served, enter, names } = aRoom();
  for (let i = 0; i < 512; i++) enter('a', `${i}`);
  const client = { open: true };
  enter('a', 'left', client);
  enter('a', 'stays');
  client.open = false;
  served[0]?.done();
  await turn();
  expect(names().slice(512)).toEqual(['stays']);
  for (const { done } of served) done();
  await turn();
  for (let i = 0; i < 512; i++) enter('a', 'again');
  expect(names().filter((name) => name === 'again').length).toBe(512);
});

it('tells who has waited for 30 s, and nobody sooner', () => {
  const { clock, room, served, enter, names } = aRoom();
  for (let i = 0; i < 512; i++) enter('a', `${i}`);
  enter('a', 'first');
  clock.advance(1);
  enter('a', 'second');
  clock.advance(29_998);
  room.sweep();
  expect(served.length).toBe(512);
  clock.advance(1);
  room.sweep();
  expect(names().slice(512)).toEqual(['first']);
  expect(served.at(-1)?.late).toBe(true);
});
