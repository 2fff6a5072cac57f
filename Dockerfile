# metasim in an image: docker build -t metasim . ; docker run --rm -v "$PWD:/work" metasim run FILE
# Where there is no Docker daemon: buildah bud --isolation chroot -t metasim . ; buildah push metasim docker-archive:metasim.tar
# Programs that a scenario starts have to be in the image too: begin yours with FROM metasim, and install them there.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY internal/fonts internal/fonts
RUN go mod download
COPY . .
RUN make install DESTDIR=/out PREFIX=/usr

FROM debian:bookworm-slim
COPY --from=build /out/ /
WORKDIR /work
ENTRYPOINT ["metasim"]
