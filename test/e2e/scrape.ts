// A scrape of a hub's metrics, as samples by name and labels.
import { expect } from 'vitest';

export type Samples = ReadonlyMap<string, number>;

export async function scrapeText(url: string, token: string): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('version=0.0.4');
  return response.text();
}

export function samplesOf(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      expect(line).toMatch(/^[a-z_][a-z0-9_]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? \S+$/i);
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

export const sumOf = (samples: Samples, start: string): number =>
  [...samples].reduce((sum, [name, value]) => (name.startsWith(start) ? sum + value : sum), 0);
