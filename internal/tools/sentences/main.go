// Command sentences prints what a person can read of this program: every string of the code that ships which
// holds a sentence or a phrase, with its file and line. Reviewers read the list; a test holds the words in it.
//
//	go run ./internal/tools/sentences [-plain] [DIR...]
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	plain := flag.Bool("plain", false, "the sentences alone, without file and line")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"api", "internal", "ui", "views", "main.go"}
	}
	list, err := collect(dirs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, s := range list {
		if *plain {
			fmt.Println(s.text)
			continue
		}
		fmt.Printf("%s:%d: %s\n", s.file, s.line, s.text)
	}
}
