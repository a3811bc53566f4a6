module github.com/hirgen/hirgen

go 1.26
