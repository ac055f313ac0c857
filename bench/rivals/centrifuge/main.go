// A small server on the library centrifuge: event streams of one channel, and a publish call.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"

	"context"

	"github.com/centrifugal/centrifuge"
)

const channel = "bench"

// Larger than every frame that the suite sends.
const maxFrameBytes = 16 << 20

func libraryVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/centrifugal/centrifuge" {
				return module.Version
			}
		}
	}
	return "unknown"
}

func publishHandler(node *centrifuge.Node) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		frame, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxFrameBytes))
		if err == nil {
			_, err = node.Publish(channel, frame)
		}
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
		}
	}
}

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	version := flag.Bool("version", false, "print the version of the library")
	flag.Parse()
	if *version {
		fmt.Println(libraryVersion())
		return
	}
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		log.Fatal(err)
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials:   &centrifuge.Credentials{},
			Subscriptions: map[string]centrifuge.SubscribeOptions{channel: {}},
		}, nil
	})
	if err := node.Run(); err != nil {
		log.Fatal(err)
	}
	http.Handle("GET /stream", centrifuge.NewSSEHandler(node, centrifuge.SSEConfig{}))
	http.HandleFunc("POST /publish", publishHandler(node))
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, nil))
}
