// The OpenAPI document of both APIs, apart from the hub: the build writes it without loading a store or a server.

import { version } from '../version.ts';
import { apiFamilies } from './api/families.ts';
import { openApiText } from './api/openapi.ts';
import type { Config } from './config.ts';

/** The document as a hub with these settings serves it; dist/openapi.json contains it for the default settings. */
export const openApiFor = ({ baseUrl, wire }: Pick<Config, 'baseUrl' | 'wire'>): string =>
  openApiText(apiFamilies, { title: 'Reeve', version, baseUrl, wire });
