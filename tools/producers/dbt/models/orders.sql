select id, price, supplier from {{ ref("raw_orders") }}
