# Image of the hub: an unpacked release archive, run by an unprivileged user on a root that can be read-only.
# Debian 13 has the glibc (2.41) that the native HTTP server's binary for Node 24 needs (2.38); Alpine has none.
FROM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/agent/package.json packages/agent/
RUN npm ci
COPY scripts ./scripts
COPY docs ./docs
COPY packages ./packages
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY actors ./actors
COPY adapters ./adapters
COPY bench ./bench
COPY demo ./demo
COPY deploy ./deploy
COPY LICENSE README.md CHANGELOG.md ./
# The archive contains production packages only, with the native binaries of this system and this version of Node.
RUN npm run release \
  && mkdir /release && tar -xzf dist/release/reeve-*.tgz -C /release --strip-components=1

FROM node:24-trixie-slim
ENV NODE_ENV=production DATA_DIR=/data PORT=8000
WORKDIR /app
# Volumes mounted here inherit the owner.
RUN mkdir /data /secrets && chown node:node /data /secrets && chmod 700 /data /secrets
COPY --from=build /release ./
USER node
VOLUME /data
EXPOSE 8000
# Liveness, not readiness: a hub that waits for its store must not be restarted.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/v1/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# As process 1, Node receives SIGTERM itself.
CMD ["node", "dist/src/main.js"]
