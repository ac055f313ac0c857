// The OpenAPI document of both APIs, apart from the hub: the build writes it without loading a store or a server.
import { apiFamilies } from '../api/families.ts';
import type { Config } from '../config.ts';
import { openApiText } from '../http/openapi.ts';
import { version } from '../version.ts';

/** The document as a hub with these settings serves it; dist/openapi.json contains it for the default settings. */
export const openApiFor = ({ baseUrl, wire }: Pick<Config, 'baseUrl' | 'wire'>): string =>
  openApiText(apiFamilies, { title: 'Reeve', version, baseUrl, wire });
