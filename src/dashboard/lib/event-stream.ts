// Reads a stream of server-sent events.
import { createParser, type ParserCallbacks } from 'eventsource-parser';

/** Calls back for each event until the stream ends. @param onBytes called for each piece, before its events */
export async function readEvents(
  body: NonNullable<Response['body']>,
  callbacks: ParserCallbacks,
  onBytes: () => void = () => {},
): Promise<void> {
  const parser = createParser(callbacks);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    parser.feed(value);
  }
}
