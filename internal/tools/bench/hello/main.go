// The hello command opens the store of a state folder and says so: what a Go program of opdeck's kind cannot start
// faster than. The bench starts it in turns with the console.
package main

import (
	"context"
	"fmt"
	"os"

	"opdeck/internal/store"
)

func main() {
	st, err := store.Open(context.Background(), store.Options{URL: "sqlite", Dir: os.Getenv("OPDECK_STATE")})
	if err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
	fmt.Println("hello")
	_ = st.Close()
}
