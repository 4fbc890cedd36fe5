select supplier, sum(price) as total from {{ ref("orders") }} group by supplier
