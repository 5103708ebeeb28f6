# The search service, or any other command of liken. The folder /srv/liken holds the index; compose.yaml and
# docs/installing.md show how to run it.
#
#   docker build --tag liken .

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The mounts keep downloaded crates and compiled dependencies for the next build, which then compiles
# what changed; the image has neither.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked --package liken-cli \
    && cp target/release/liken /usr/local/bin/liken

FROM debian:bookworm-slim
# A fixed number, so that the owner of a volume is known from outside.
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin liken \
    && install --directory --owner liken --group liken /srv/liken
COPY --from=build /usr/local/bin/liken /usr/local/bin/liken
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/liken/

# Whoever publishes the image says what it was made of.
ARG VERSION
ARG REVISION
ARG SOURCE
LABEL org.opencontainers.image.title="liken" \
      org.opencontainers.image.description="Learns which document answers which query from click logs and text; command line and search service" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"

USER 10001:10001
WORKDIR /srv/liken
VOLUME ["/srv/liken"]
EXPOSE 7700
# The image has no curl; bash opens the connection itself. /ready needs no key, and is 503 while searches
# would fail or miss changes.
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7700 && printf 'GET /ready HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["liken"]
# Other machines can reach this address, so the service starts only if the index has keys.
CMD ["serve", "index", "--host", "0.0.0.0", "--log-format", "json"]
