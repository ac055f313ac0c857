// A small OTLP receiver (JSON over HTTP) that keeps what it gets: spans, and the newest reading of each metric.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SentMetric {
  readonly name: string;
  readonly sum?: {
    readonly dataPoints: readonly { readonly asDouble: number }[];
    readonly isMonotonic: true;
  };
  readonly gauge?: { readonly dataPoints: readonly { readonly attributes: readonly object[] }[] };
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly count: string;
      readonly bucketCounts: readonly string[];
      readonly explicitBounds: readonly number[];
    }[];
  };
}

export interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** `service.name` of its resource. */
  readonly service: string;
  /** `service.instance.id` of its resource: the node. */
  readonly node: string;
}

interface SentAttribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

export class OtlpReceiver {
  readonly spans: SentSpan[] = [];
  /** The newest reading of the metrics, by name. */
  metrics: ReadonlyMap<string, SentMetric> = new Map();
  /** Everything that was sent to `/v1/traces`. */
  bodies = '';
  readonly #server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      if (request.url === '/v1/metrics') this.#takeMetrics(body);
      else this.#takeSpans(body);
      response.setHeader('Content-Type', 'application/json');
      response.end('{}');
    });
  });

  /** @returns its address */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  spansOf(traceId: string): readonly SentSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  namesOf(traceId: string): string[] {
    return this.spansOf(traceId).map(({ name }) => name);
  }

  #takeMetrics(body: string): void {
    const { resourceMetrics = [] } = JSON.parse(body);
    const metrics = resourceMetrics.flatMap(
      ({ scopeMetrics }: { scopeMetrics: { metrics: SentMetric[] }[] }) =>
        scopeMetrics.flatMap((scope) => scope.metrics),
    );
    if (metrics.length > 0) this.metrics = new Map(metrics.map((one: SentMetric) => [one.name, one]));
  }

  #takeSpans(body: string): void {
    this.bodies += body;
    for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans ?? []) {
      const attributes: readonly SentAttribute[] = resource?.attributes ?? [];
      const attribute = (name: string) => attributes.find(({ key }) => key === name)?.value.stringValue ?? '';
      const sender = { service: attribute('service.name'), node: attribute('service.instance.id') };
      for (const { spans } of scopeSpans)
        this.spans.push(...spans.map((span: SentSpan) => ({ ...span, ...sender })));
    }
  }
}
