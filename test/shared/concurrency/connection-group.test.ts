// An outage of a server that several connections share is reported once, and a process that ends reports none.
import { expect, it } from 'vitest';
import { ConnectionGroup } from '../../../src/shared/concurrency/connection-group.ts';

function groupWithReports() {
  const reports: string[] = [];
  const group = new ConnectionGroup({ down: (cause) => reports.push(cause), up: () => reports.push('up') });
  return { group, reports };
}

it('reports an outage of two connections and its end once each', () => {
  const { group, reports } = groupWithReports();
  const [first, second] = [{}, {}];
  group.down(first, 'it is away');
  group.down(second, 'it is away');
  group.up(first);
  expect(reports).toEqual(['it is away']);
  group.up(second);
  expect(reports).toEqual(['it is away', 'up']);
});

it('reports no end of an outage for a connection that was never made', () => {
  const { group, reports } = groupWithReports();
  const connection = {};
  group.down(connection, 'it refuses the password');
  group.forget(connection);
  expect(reports).toEqual(['it refuses the password']);
});

it('reports nothing for connections that the process closes', () => {
  const { group, reports } = groupWithReports();
  const connection = {};
  group.close();
  group.down(connection, 'it closed the connection');
  group.up(connection);
  expect(reports).toEqual([]);
});
